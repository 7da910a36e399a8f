/*
 * A stand-in for pyxis in this project's tests: a SPANK plugin that takes the same options and refuses the same things.
 * It is not pyxis and holds none of its code; README.md beside it says what it does and does not do.
 */
#define _GNU_SOURCE
#include "container.h"
#include "options.h"
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

SPANK_PLUGIN(pyxis, 1)

/* What the site's plugstack.conf says. */
static struct {
	char runtime[1024], data[1024], registry[1024], record[1024];
	bool global, sbatch, entrypoint, pmi;
} site = { .runtime = "/run/pyxis", .data = "/run/enroot/data", .global = true, .sbatch = true };

enum state { FRESH, STARTED, FAILED };

/* Shared by the tasks of one step on one node. */
static struct shared {
	pthread_mutex_t lock;
	enum state state;
	pid_t pid;
	bool joined;
	uint32_t done, ended;
} *shared;

static void site_argument(const char *word)
{
	static const struct { const char *key; char *text; } texts[] = {
		{ "runtime_path=", site.runtime }, { "data_path=", site.data }, { "registry=", site.registry },
		{ "record=", site.record },
	};
	static const struct { const char *key; bool *value; } flags[] = {
		{ "sbatch_support=", &site.sbatch }, { "execute_entrypoint=", &site.entrypoint }, { "pmi_hook=", &site.pmi },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (strncmp(word, texts[i].key, strlen(texts[i].key)) == 0)
			snprintf(texts[i].text, 1024, "%s", word + strlen(texts[i].key));
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (strncmp(word, flags[i].key, strlen(flags[i].key)) == 0)
			*flags[i].value = word[strlen(flags[i].key)] == '1';
	if (strncmp(word, "container_scope=", 16) == 0)
		site.global = strcmp(word + 16, "global") == 0;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	spank_context_t context = spank_context();

	for (int i = 0; i < argc; i++)
		site_argument(argv[i]);
	if (context == S_CTX_LOCAL || context == S_CTX_REMOTE || (context == S_CTX_ALLOCATOR && site.sbatch))
		return options_register(spank);
	return 0;
}

static const char *own_variable(void *where, const char *name)
{
	(void)where;
	return getenv(name);
}

static const char *job_variable(void *where, const char *name)
{
	return env_get(where, name);
}

static void tell_ignored(const char *option)
{
	slurm_error("pyxis: ignoring --%s because neither --container-image nor --container-name is set", option);
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	(void)spank, (void)argc, (void)argv;
	if (spank_context() != S_CTX_LOCAL && spank_context() != S_CTX_ALLOCATOR)
		return 0;
	if (!options_container() && getenv("PYXIS_CONTAINER_IMAGE") == NULL && getenv("PYXIS_CONTAINER_NAME") == NULL)
		options_ignored(tell_ignored);
	if (*site.record != '\0' && spank_context() == S_CTX_LOCAL && record_words(site.record) != 0)
		return -1;
	return options_environment(own_variable, NULL);
}

int slurm_spank_user_init(spank_t spank, int argc, char **argv)
{
	pthread_mutexattr_t kind;
	char **env = NULL;

	(void)argc, (void)argv;
	spank_get_item(spank, S_JOB_ENV, &env);
	if (options_environment(job_variable, env) != 0)
		return -1;
	if (!options_container() || *site.record != '\0')
		return 0;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return -1;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	return pthread_mutex_init(&shared->lock, &kind);
}

/* The folder of this step's root. */
static void root_path(spank_t spank, char *path, size_t size)
{
	uint32_t job = 0, step = 0;
	uid_t uid = 0;

	spank_get_item(spank, S_JOB_UID, &uid);
	spank_get_item(spank, S_JOB_ID, &job);
	spank_get_item(spank, S_JOB_STEPID, &step);
	if (options.name == NULL)
		snprintf(path, size, "%s/%d/pyxis_%u.%u", site.data, uid, job, step);
	else if (site.global)
		snprintf(path, size, "%s/%d/pyxis_%s", site.data, uid, options.name);
	else
		snprintf(path, size, "%s/%d/pyxis_%u_%s", site.data, uid, job, options.name);
}

static bool switch_on(int said, char **env, const char *name, bool otherwise)
{
	const char *value = env_get(env, name);

	if (said != -1)
		return said;
	return value ? *value != '\0' && strchr("yYtT1", *value) != NULL : otherwise;
}

static bool brought_hook(char **env)
{
	const char *folder = env_get(env, "ENROOT_CONFIG_PATH");
	char path[4096];

	snprintf(path, sizeof(path), "%s/hooks.d/50-slurm-pmi.sh", folder ? folder : "");
	return folder != NULL && access(path, X_OK) == 0;
}

static void fill(spank_t spank, struct container *box)
{
	uint32_t step = 0;
	int argc = 0;
	char **argv = NULL;

	spank_get_item(spank, S_JOB_ENV, &box->env);
	spank_get_item(spank, S_JOB_STEPID, &step);
	spank_get_item(spank, S_JOB_ARGV, &argc, &argv);
	root_path(spank, box->root, sizeof(box->root));
	box->image = options.image;
	box->squashfs = options.image;
	box->writable = switch_on(options.writable, box->env, "ENROOT_ROOTFS_WRITABLE", false);
	box->mount_home = switch_on(options.mount_home, box->env, "ENROOT_MOUNT_HOME", false);
	box->remap_root = switch_on(options.remap_root, box->env, "ENROOT_REMAP_ROOT", false);
	box->entrypoint = options.entrypoint == -1 ? site.entrypoint : options.entrypoint;
	box->pmi = site.pmi || brought_hook(box->env);
	box->script = step == SLURM_BATCH_SCRIPT && argc > 0 ? argv[0] : NULL;
}

/* [docker://][USER@][REGISTRY#]IMAGE[:TAG] in its parts; the registry's default is the public one. */
static void reference(const char *text, char *registry, char *image, char *tag, size_t size)
{
	const char *hash, *at, *slash, *colon;

	text += strncmp(text, "docker://", 9) == 0 ? 9 : 0;
	at = strchr(text, '@');
	text = at != NULL && strncmp(at, "@sha256:", 8) != 0 ? at + 1 : text;
	hash = strchr(text, '#');
	slash = strchr(text, '/');
	snprintf(registry, size, "registry-1.docker.io");
	if (hash == NULL && slash != NULL && (memchr(text, '.', slash - text) || memchr(text, ':', slash - text)))
		hash = slash;
	if (hash != NULL) {
		snprintf(registry, size, "%.*s", (int)(hash - text), text);
		text = hash + 1;
	}
	at = strchr(text, '@');
	colon = at ? at : strrchr(text, ':');
	snprintf(image, size, "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
	snprintf(tag, size, "%s", colon ? colon + 1 : "latest");
}

/* A registry is a folder: REGISTRY/IMAGE/TAG.sqsh. */
static int import(const char *text, char *path, size_t size)
{
	char registry[256], image[512], tag[128], folder[1400];

	reference(text, registry, image, tag, sizeof(tag));
	for (const char *c = image; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z') {
			dprintf(log_file(), "[ERROR] Invalid image reference: %s\n", text);
			return -1;
		}
	dprintf(log_file(), "[INFO] Querying registry for permission grant\n");
	snprintf(folder, sizeof(folder), "%s/%s", site.registry, registry);
	if (*site.registry == '\0' || access(folder, X_OK) != 0) {
		dprintf(log_file(), "curl: (6) Could not resolve host: %s\n", registry);
		return -1;
	}
	snprintf(path, size, "%s/%s/%s.sqsh", folder, image, tag);
	if (access(path, R_OK) != 0) {
		dprintf(log_file(), "[ERROR] URL https://%s/v2/%s/manifests/%s returned error code: 404 Not Found\n", registry, image, tag);
		return -1;
	}
	return 0;
}

static int create_root(struct container *box)
{
	char path[2600];

	if (box->image[0] != '.' && box->image[0] != '/') {
		if (import(box->image, path, sizeof(path)) != 0) {
			slurm_error("pyxis: failed to import docker image: %s", box->image);
			log_print();
			return -1;
		}
		slurm_spank_log("pyxis: imported docker image: %s", box->image);
		box->squashfs = path;
	}
	if (container_create(box) != 0) {
		slurm_error("pyxis: failed to create container filesystem for image: %s", box->image);
		log_print();
		return -1;
	}
	log_forget();
	return 0;
}

static int check_sources(void)
{
	for (size_t i = 0; i < options.mount_count; i++) {
		const char *source = options.mounts[i].source;

		if (source[0] == '/' && access(source, F_OK) != 0) {
			slurm_error("pyxis: --container-mounts: source path does not exist: %s", source);
			return -1;
		}
	}
	return 0;
}

/* One name with a space makes the list of roots unreadable. */
static int check_names(const char *root)
{
	char folder[3072];
	struct dirent *entry;
	DIR *list;
	int rc = 0;

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(root, '/') - root), root);
	list = opendir(folder);
	while (list != NULL && (entry = readdir(list)) != NULL)
		if (strchr(entry->d_name, ' ') != NULL)
			rc = -1;
	if (list != NULL)
		closedir(list);
	if (rc != 0)
		slurm_error("pyxis: couldn't parse the output of enroot list");
	return rc;
}

/* Decide about a name: 1 join the running container, 0 start one (after making its root where that is to be), -1. */
static int decide(struct container *box, bool *make)
{
	bool exists = access(box->root, F_OK) == 0;
	const char *base = strrchr(box->root, '/') + 1;

	*make = !exists;
	if (options.name == NULL)
		return 0;
	if (check_names(box->root) != 0)
		return -1;
	if (options.reuse == REUSE_CREATE && exists) {
		slurm_error("pyxis: error: “create” flag was passed to --container-name but the container already exists");
		return -1;
	}
	if (!exists && options.image == NULL) {
		slurm_error("pyxis: error: a container with name \"%s\" does not exist, and --container-image is not set", base);
		return -1;
	}
	if (options.reuse == REUSE_AUTO || options.reuse == REUSE_EXEC)
		shared->pid = exists ? container_running(box->root) : 0;
	if (options.reuse == REUSE_EXEC && shared->pid == 0) {
		slurm_error("pyxis: error: \"exec\" flag was passed to --container-name but the container is not running");
		return -1;
	}
	return shared->pid != 0;
}

static int start(struct container *box)
{
	char folder[1100];
	bool make;
	int join;

	if (options.unshare != NULL) {
		slurm_error("pyxis: --container-unshare needs a newer enroot");
		return -1;
	}
	snprintf(folder, sizeof(folder), "%s/%d", site.data, getuid());
	if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
		slurm_error("pyxis: couldn't make %s: %s", folder, strerror(errno));
		return -1;
	}
	if ((join = decide(box, &make)) < 0 || (make && create_root(box) != 0))
		return -1;
	if (join) {
		if (options.mount_count > 0)
			slurm_error("pyxis: ignoring --container-mounts when attaching to a running container");
		shared->joined = true;
		return 0;
	}
	if (check_sources() != 0)
		return -1;
	if ((shared->pid = container_start(box)) < 0) {
		slurm_error("pyxis: printing enroot log file:");
		log_print();
		return -1;
	}
	if (options.entrypoint_log == 1)
		log_print();
	return 0;
}

static bool named(const char *name)
{
	for (size_t i = 0; i < options.env_count; i++)
		if (strcmp(options.env[i], name) == 0)
			return true;
	return false;
}

/* The container's variables win over the job's, except over those that were named and are set. */
static void import_environment(spank_t spank, pid_t pid, char **job)
{
	static const char *const dropped[] = { "LANG", "LANGUAGE", "LC_ALL" }, *const shell[] = { "_", "SHLVL", "OLDPWD" };
	char path[64], *pair = NULL;
	size_t size = 0;
	FILE *file;

	for (size_t i = 0; i < 3; i++)
		if (!named(dropped[i]))
			spank_unsetenv(spank, dropped[i]);
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	file = fopen(path, "r");
	while (file != NULL && getdelim(&pair, &size, '\0', file) > 0) {
		char *value = strchr(pair, '=');

		if (value == NULL)
			continue;
		*value++ = '\0';
		if (strcmp(pair, shell[0]) == 0 || strcmp(pair, shell[1]) == 0 || strcmp(pair, shell[2]) == 0)
			continue;
		if (!named(pair) || env_get(job, pair) == NULL)
			spank_setenv(spank, pair, value, 1);
	}
	free(pair);
	if (file != NULL)
		fclose(file);
}

/* A PyTorch image is told its rank. */
static void pytorch(spank_t spank)
{
	char text[64];

	if (spank_getenv(spank, "PYTORCH_VERSION", text, sizeof(text)) == ESPANK_ENV_NOEXIST)
		return;
	if (spank_getenv(spank, "SLURM_PROCID", text, sizeof(text)) == ESPANK_SUCCESS)
		spank_setenv(spank, "RANK", text, 0);
	if (spank_getenv(spank, "SLURM_LOCALID", text, sizeof(text)) == ESPANK_SUCCESS)
		spank_setenv(spank, "LOCAL_RANK", text, 0);
}

static int attach(spank_t spank, char **job)
{
	char path[64], folder[4096];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/cwd", shared->pid);
	length = readlink(path, folder, sizeof(folder) - 1);
	folder[length > 0 ? length : 0] = '\0';
	import_environment(spank, shared->pid, job);
	pytorch(spank);
	if (container_enter(shared->pid) != 0)
		return -1;
	if (chdir(options.workdir ? options.workdir : folder) != 0) {
		slurm_error("pyxis: couldn't chdir to %s: %s", options.workdir ? options.workdir : folder, strerror(errno));
		return -1;
	}
	return 0;
}

static void hold(void)
{
	if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&shared->lock);
}

/* The first process of the container stays until every task of the step has joined. */
static void release(uint32_t tasks)
{
	for (int tries = 0; tries < 30000 && __atomic_load_n(&shared->done, __ATOMIC_SEQ_CST) < tasks; tries++)
		usleep(1000);
	kill(shared->pid, SIGKILL);
	waitpid(shared->pid, NULL, 0);
}

int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	struct container box = { 0 };
	uint32_t tasks = 1;
	bool first = false;
	int rc = -1;

	(void)argc, (void)argv;
	if (*site.record != '\0' && !record_batch(spank))
		_exit(record_task(spank, site.record) == 0 ? 0 : 1);
	if (shared == NULL)
		return 0;
	spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks);
	fill(spank, &box);
	hold();
	if (shared->state == FRESH) {
		shared->state = start(&box) == 0 ? STARTED : FAILED;
		first = shared->state == STARTED && !shared->joined;
	}
	pthread_mutex_unlock(&shared->lock);
	if (shared->state == STARTED)
		rc = attach(spank, box.env);
	__atomic_add_fetch(&shared->done, 1, __ATOMIC_SEQ_CST);
	if (first)
		release(tasks);
	return rc;
}

static void save(spank_t spank, const char *root)
{
	static char *bare[] = { "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", NULL };
	char *words[40] = { "mksquashfs", (char *)root, options.save, "-noappend", "-no-progress", "-quiet" };
	char given[512], *rest = given;
	int count = 6;
	uid_t uid = 0;
	gid_t gid = 0;
	int status = -1;
	pid_t pid;

	/* enroot's own default leaves data as it is. */
	if (spank_getenv(spank, "ENROOT_SQUASH_OPTIONS", given, sizeof(given)) != ESPANK_SUCCESS)
		snprintf(given, sizeof(given), "-comp lzo -noD");
	while (count < 39 && (words[count] = strsep(&rest, " ")) != NULL)
		count++;
	spank_get_item(spank, S_JOB_UID, &uid);
	spank_get_item(spank, S_JOB_GID, &gid);
	if ((pid = fork()) == 0) {
		if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
			_exit(1);
		_exit(program(words, bare));
	}
	waitpid(pid, &status, 0);
	if (status == 0) {
		slurm_spank_log("pyxis: exported container %s to %s", strrchr(root, '/') + 1, options.save);
		return;
	}
	slurm_error("pyxis: failed to export container %s to %s", strrchr(root, '/') + 1, options.save);
	log_print();
}

static void discard(const char *path)
{
	static char *bare[] = { "PATH=/usr/bin:/bin", NULL };
	char *words[] = { "rm", "-rf", "--one-file-system", (char *)path, NULL };

	program(words, bare);
}

int slurm_spank_task_exit(spank_t spank, int argc, char **argv)
{
	char root[3072];
	uint32_t tasks = 1;

	(void)argc, (void)argv;
	if (shared == NULL)
		return 0;
	spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks);
	if (++shared->ended < tasks)
		return 0;
	root_path(spank, root, sizeof(root));
	if (options.save != NULL && shared->state == STARTED)
		save(spank, root);
	if (options.name == NULL)
		discard(root);
	return 0;
}

/* At the end of a job: with container_scope=job its named roots go. */
int slurm_spank_job_epilog(spank_t spank, int argc, char **argv)
{
	char folder[1100], prefix[64], path[3072];
	struct dirent *entry;
	uint32_t job = 0;
	uid_t uid = 0;
	DIR *list;

	for (int i = 0; i < argc; i++)
		site_argument(argv[i]);
	if (site.global)
		return 0;
	spank_get_item(spank, S_JOB_UID, &uid);
	spank_get_item(spank, S_JOB_ID, &job);
	snprintf(folder, sizeof(folder), "%s/%d", site.data, uid);
	snprintf(prefix, sizeof(prefix), "pyxis_%u_", job);
	list = opendir(folder);
	while (list != NULL && (entry = readdir(list)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			discard(path);
	}
	if (list != NULL)
		closedir(list);
	return 0;
}
