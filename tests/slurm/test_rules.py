"""What Slurm, pyxis, enroot and Apptainer do, as far as the launcher's words rest on it, and the tests that hold it.

A rule without a test is a belief. Where a rule is about the world (`slurm/test_pyxis_*`, `test_apptainer`,
`test_testbed*`), the real program or the stand-in is asked; where it is about us, what we render or do.
"""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SKIPPED = {"skip", "skipif", "xfail", "site"}

FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "variables go in srun's own environment, the names that must win in one --container-env, never --export": (
        "render/test_sbatch.py::test_nothing_is_exported_and_nothing_is_quoted",
        "render/test_pyxis.py::test_environment_by_name",
        "slurm/test_testbed.py::test_export_all_does_not_override",
        "slurm/test_pyxis_environment.py::test_environment",
        "slurm/test_received.py::test_variables_reach_the_nodes_to_the_byte",
    ),
    "PYXIS_CONTAINER_*, ENROOT_* and SLURM_* of the shell decide nothing": (
        "slurm/test_up_submission.py::test_the_shell_does_not_leak_into_the_job",
        "slurm/test_up_environment.py::test_values_arrive_to_the_byte_and_secrets_stand_nowhere",
        "slurm/test_pyxis_environment.py::test_variables_stand_for_options_and_options_win",
        "slurm/test_pyxis_roots.py::test_a_variable_puts_even_the_batch_script_into_a_container",
    ),
    "one --container-mounts, and no path with a character that pyxis cannot carry": (
        "slurm/test_pyxis_mounts.py::test_of_two_options_only_the_last_counts",
        "slurm/test_pyxis_mounts.py::test_mounts",
        "render/test_pyxis.py::test_mounts_are_one_option_in_their_order",
        "checks/test_mistakes.py::test_paths_that_break_pyxis_are_refused",
        "checks/test_mistakes.py::test_paths_with_harmless_characters_are_mounted",
    ),
    "nodes, tasks, list, name, --overlap, --input=none, --kill-on-bad-exit and negative switches are written out": (
        "render/test_srun.py::test_one_task_on_one_node",
        "render/test_pyxis.py::test_every_switch_is_written_out",
        "slurm/test_received.py::test_what_srun_receives_is_golden",
        "slurm/test_testbed.py::test_steps_overlap_on_one_node",
        "slurm/test_testbed.py::test_a_bad_exit_ends_the_other_tasks",
    ),
    "GPUs are masked by an inner env": (
        "slurm/test_testbed.py::test_only_an_inner_env_masks_gpus",
        "slurm/test_words.py::test_gpus_are_masked",
    ),
    "steps are stopped by name, never by a signal to their srun": (
        "slurm/test_testbed.py::test_term_to_srun_kills_its_tasks_at_once",
        "slurm/test_testbed.py::test_scancel_of_a_step",
        "slurm/test_words.py::test_steps_are_found_by_name",
        "slurm/test_up_faults.py::test_a_killed_srun_takes_its_step_along",
    ),
    "an impossible size is refused before it queues for ever": (
        "slurm/test_up_bare.py::test_what_slurm_refuses_is_never_submitted",
        "slurm/test_up_bare.py::test_more_nodes_than_there_are_would_wait_for_ever",
        "slurm/test_testbed.py::test_a_limit_above_the_partition_s_is_accepted_and_never_starts",
    ),
    "references as this enroot takes them, digests from 4.0 on, files by their absolute path": (
        "images/test_use.py::test_as_the_runtime_is_told",
        "images/test_use.py::test_refused",
        "slurm/test_pyxis_refusals.py::test_what_is_no_path_is_a_reference",
        "slurm/test_sites.py::test_references_are_imported",
    ),
    "an image is imported once, not by every step": (
        "execute/images/test_store.py::test_it_is_made_once",
        "slurm/test_image_store.py::test_a_step_starts_from_it",
    ),
    "pyxis's failures on a node are told from a role's own by their text": (
        "slurm/test_pyxis_refusals.py::test_the_node_refuses",
        "run/test_hints_containers.py::test_a_known_text_has_a_hint",
        "slurm/test_up_containers.py::test_an_image_that_vanished_is_named",
    ),
    "Apptainer: --no-eval with APPTAINERENV_, binds with their commas and colons escaped": (
        "slurm/test_apptainer.py::test_the_environment_is_clean_and_exact",
        "slurm/test_apptainer.py::test_without_no_eval_values_are_evaluated",
        "slurm/test_apptainer.py::test_binds",
        "render/test_apptainer.py::test_commas_and_colons_are_escaped_in_binds",
    ),
}
"""What follows from what the programs do."""

PROVEN: Mapping[str, tuple[str, ...]] = {
    "1: sbatch in a clean environment, without --export; the batch script becomes the supervisor": (
        "render/test_sbatch.py::test_nothing_is_exported_and_nothing_is_quoted",
        "slurm/test_up_submission.py::test_the_shell_does_not_leak_into_the_job",
        "slurm/test_up_unheard.py::test_the_batch_script_lives_on",
    ),
    "2: srun's environment is an allow-list": (
        "render/test_script.py::test_slurm_gets_an_allow_list_without_step_variables",
        "slurm/test_up_environment.py::test_values_arrive_to_the_byte_and_secrets_stand_nowhere",
        "slurm/test_up_environment.py::test_what_a_cluster_lets_through_comes_along",
    ),
    "3: the words of a step, also over several nodes and components": (
        "slurm/test_received.py::test_what_srun_receives_is_golden",
        "slurm/test_received.py::test_what_nodes_are_told_is_what_srun_received",
        "render/test_srun.py::test_a_step_over_components_repeats_its_options_for_each",
        "slurm/test_words_jobs.py::test_a_heterogeneous_job_has_its_steps_in_their_components",
    ),
    "4: a task's number in the name of an output has the node write it": (
        "slurm/test_testbed.py::test_output_with_a_task_s_number_is_written_by_the_node",
        "render/test_srun.py::test_a_file_for_each_task",
    ),
    "5: names in --container-env for values of one line alone; others go by another name, exact": (
        "slurm/test_pyxis_environment.py::test_environment",
        "render/test_pyxis.py::test_a_value_of_several_lines_goes_by_a_second_name",
        "slurm/test_up_environment.py::test_values_arrive_to_the_byte_and_secrets_stand_nowhere",
    ),
    "6: a login shell takes the place of the image's PATH": (
        "slurm/test_pyxis_environment.py::test_a_login_shell_decides_about_path",
        "render/test_pyxis.py::test_inside",
        "checks/test_cases.py::test_findings_are_told_word_for_word",
    ),
    "7: a root is made once, joined after that has ended well, never to write": (
        "render/test_pyxis.py::test_a_join_says_nothing_of_an_image_and_cannot_write",
        "render/test_script.py::test_a_root_is_prepared_once_and_the_janitor_is_there_before",
        "slurm/test_pyxis_roots.py::test_create_wants_a_new_name",
        "slurm/test_pyxis_roots.py::test_what_a_writable_join_writes_all_see",
        "slurm/test_pyxis_roots.py::test_many_join_at_once",
    ),
    "8: a janitor waits on the nodes and removes roots once nothing runs in them": (
        "run/test_janitor.py::test_a_directory_in_use_is_waited_for",
        "run/test_janitor.py::test_enroot_is_asked_for_its_containers",
        "slurm/test_words_jobs.py::test_a_job_that_is_cancelled_is_cleaned_by_the_janitor",
        "slurm/test_up_containers.py::test_however_it_ends_nothing_stays_on_the_nodes",
        "slurm/test_pyxis_roots.py::test_a_root_can_be_removed_under_a_running_process",
    ),
    "9: a preamble has a root of its own to write in, and runs once where there are several tasks": (
        "slurm/test_words.py::test_roots_are_read_only_but_for_a_role_s_own_preamble",
        "slurm/test_words.py::test_ranks_have_their_numbers_and_their_preamble_s_files",
        "slurm/test_containers.py::test_a_preamble_installs_a_heavy_package_as_an_ordinary_user",
        "slurm/test_containers.py::test_a_preamble_cannot_install_in_a_read_only_root",
        "render/test_bare.py::test_a_failing_preamble_ends_the_step_before_its_command",
    ),
    "10: Apptainer's switches; what is written goes to a folder of the node, as fake root, and is removed so": (
        "render/test_apptainer.py::test_switches",
        "slurm/test_apptainer.py::test_an_overlay_keeps_what_is_written_and_goes_through_fakeroot",
        "slurm/test_apptainer.py::test_without_fakeroot_an_overlay_cannot_be_written",
        "render/test_apptainer.py::test_a_container_removes_what_fake_root_wrote",
    ),
    "11: tasks are told by their pids, then steps by TERM, then by KILL": (
        "slurm/test_words.py::test_told_they_end_well_and_leave_nothing",
        "slurm/test_apptainer.py::test_term_by_process_id_ends_it_gracefully",
        "slurm/test_up_faults.py::test_a_step_that_hears_nothing_is_killed",
    ),
    "12: the keeper's last words; `down` tells the batch script; the job's state is the supervisor's exit code": (
        "slurm/test_up_faults.py::test_a_killed_supervisor_leaves_an_honest_outcome",
        "slurm/test_up_faults.py::test_a_killed_keeper_leaves_an_honest_outcome",
        "slurm/test_up_faults.py::test_a_killed_router_ends_the_run",
        "slurm/test_up_bare.py::test_a_run_serves_from_another_node_and_goes_without_a_trace",
    ),
    "13: the warning of the time limit may come early, and what an image says while it is ended is no cause": (
        "render/test_sbatch.py::test_the_warning_leaves_time_for_the_slowest_step_and_the_janitor",
        "slurm/test_up_faults.py::test_the_time_limit_is_the_cause_it_says",
        "slurm/test_up_unheard.py::test_a_missed_warning_of_the_time_limit_is_made_up_for",
        "slurm/test_up_containers.py::test_an_end_while_an_image_is_unpacked_is_no_fault_of_the_image",
    ),
    "14: the task that ended first is the cause, whatever srun's own exit code; nodes keep their order": (
        "run/test_blame_tasks.py::test_the_task_that_ended_first_counts_though_others_complain",
        "slurm/test_up_containers.py::test_ranks_of_one_step_serve",
        "slurm/test_words.py::test_ranks_have_their_numbers_and_their_preamble_s_files",
    ),
    "15: pmix's folder is in a container with enroot's hook alone; Apptainer is shown it": (
        "slurm/test_sites.py::test_pmix_s_folder_is_in_the_container_only_with_the_hook",
        "render/test_apptainer.py::test_ranks_see_the_folder_of_the_pmix_server",
        "slurm/test_apptainer.py::test_tasks_on_two_nodes_with_pmix",
    ),
    "16: a step has the CPUs of its share, however Slurm binds": (
        "slurm/test_testbed_kinds.py::test_cpus_of_a_step",
        "plan/test_batch.py::test_resources",
        "slurm/test_up_containers.py::test_a_run_serves_and_leaves_nothing",
        "slurm/test_up_containers.py::test_steps_have_the_share_of_cpus_that_was_planned",
    ),
    "17: a saved root counts with exit code 0, its text and a whole file": (
        "slurm/test_pyxis_roots.py::test_save_keeps_what_was_written_and_not_what_was_mounted",
        "slurm/test_pyxis_roots.py::test_a_failure_to_save_leaves_the_code_alone",
    ),
    "18: a flattened image starts like an imported one": (
        "execute/images/test_store.py::test_what_enroot_would_have_added",
        "slurm/test_image_store.py::test_a_step_starts_from_it",
        "slurm/test_pyxis_mounts.py::test_an_image_with_rc_has_a_working_directory_and_its_entrypoint_is_skipped",
    ),
}
"""The rules of words that were proven on the real programs, by their numbers."""

RULES = {**FOLLOWS, **PROVEN}


@cache
def functions(path: str) -> frozenset[str]:
    """The tests of a file that run wherever the suite does."""
    tree = ast.parse((TESTS / path).read_text())
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return frozenset(node.name for node in found if not SKIPPED & marks(node))


def marks(function: ast.FunctionDef) -> set[str]:
    """The last names in its decorators."""
    parts = (part for each in function.decorator_list for part in ast.walk(each))
    return {part.attr for part in parts if isinstance(part, ast.Attribute)}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_its_tests(rule: str) -> None:
    for named in RULES[rule]:
        path, _, name = named.partition("::")
        assert name.partition("[")[0] in functions(path), named


def test_no_rule_is_forgotten() -> None:
    assert [int(rule.partition(":")[0]) for rule in PROVEN] == list(range(1, 19))
    assert all(RULES.values())
