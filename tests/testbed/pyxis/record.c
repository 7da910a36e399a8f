#include "record.h"

#include "options.h"

#include <slurm/slurm.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static void put(FILE *file, const char *text)
{
	fputs(text, file);
	fputc('\0', file);
}

static void put_all(FILE *file, char **texts)
{
	size_t count = 0;

	while (texts != NULL && texts[count] != NULL)
		count++;
	fprintf(file, "%zu%c", count, '\0');
	for (size_t i = 0; i < count; i++)
		put(file, texts[i]);
}

int record_words(const char *folder)
{
	char path[1100], part[4096];
	size_t length;
	FILE *from = fopen("/proc/self/cmdline", "r"), *to;

	snprintf(path, sizeof(path), "%s/srun.%d", folder, getpid());
	to = fopen(path, "w");
	if (from == NULL || to == NULL) {
		slurm_error("pyxis: the words cannot be noted in %s", path);
		return -1;
	}
	while ((length = fread(part, 1, sizeof(part), from)) > 0)
		fwrite(part, 1, length, to);
	fclose(from);
	return fclose(to);
}

static void put_option(FILE *file, const char *name, const char *value)
{
	if (value != NULL)
		fprintf(file, "%s=%s%c", name, value, '\0');
}

static void put_switch(FILE *file, const char *name, int value)
{
	if (value != -1)
		fprintf(file, "%s%s%c", value ? "" : "no-", name, '\0');
}

static void put_options(FILE *file)
{
	static const char *const reuse[] = { "auto", "create", "exec", "no_exec" };

	put_option(file, "image", options.image);
	if (options.name != NULL)
		fprintf(file, "name=%s:%s%c", options.name, reuse[options.reuse], '\0');
	for (size_t i = 0; i < options.mount_count; i++) {
		const char *flags = options.mounts[i].flags;

		fprintf(file, "mount=%s:%s%s%s%c", options.mounts[i].source, options.mounts[i].target, flags ? ":" : "",
			flags ? flags : "", '\0');
	}
	for (size_t i = 0; i < options.env_count; i++)
		put_option(file, "env", options.env[i]);
	put_option(file, "workdir", options.workdir);
	put_option(file, "save", options.save);
	put_switch(file, "mount-home", options.mount_home);
	put_switch(file, "entrypoint", options.entrypoint);
	put_switch(file, "entrypoint-log", options.entrypoint_log);
	put_switch(file, "remap-root", options.remap_root);
	put_switch(file, "writable", options.writable);
}

bool record_batch(spank_t spank)
{
	uint32_t step = 0;

	spank_get_item(spank, S_JOB_STEPID, &step);
	return step == SLURM_BATCH_SCRIPT;
}

int record_task(spank_t spank, const char *folder)
{
	uint32_t step = 0, rank = 0;
	int argc = 0;
	char path[1100], **argv = NULL, **env = NULL;
	FILE *file;

	spank_get_item(spank, S_JOB_STEPID, &step);
	spank_get_item(spank, S_TASK_GLOBAL_ID, &rank);
	spank_get_item(spank, S_JOB_ARGV, &argc, &argv);
	spank_get_item(spank, S_JOB_ENV, &env);
	snprintf(path, sizeof(path), "%s/task.%d.%u.%u", folder, getpid(), step, rank);
	file = fopen(path, "w");
	if (file == NULL) {
		slurm_error("pyxis: the task cannot be noted in %s", path);
		return -1;
	}
	put_all(file, argv);
	put_all(file, env);
	put_options(file);
	return fclose(file);
}
