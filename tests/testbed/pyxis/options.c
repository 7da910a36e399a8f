#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct options options = { .mount_home = -1, .remap_root = -1, .entrypoint = -1, .entrypoint_log = -1, .writable = -1 };

/* Which options the command line named: they beat the environment. */
static bool said[OPT_READONLY + 1];

static int once(char **slot, const char *option, const char *value)
{
	if (*slot != NULL && strcmp(*slot, value) != 0) {
		slurm_error("pyxis: %s specified multiple times", option);
		return -1;
	}
	if (*slot == NULL)
		*slot = strdup(value);
	return 0;
}

static int image(const char *value)
{
	if (*value == '\0') {
		slurm_error("pyxis: --container-image: argument required");
		return -1;
	}
	return once(&options.image, "--container-image", value);
}

static bool path_start(const char *text)
{
	return text[0] == '.' || text[0] == '/';
}

/* One entry, SRC[:DST[:FLAGS]]: no character can be escaped. */
static int mount_entry(char *entry)
{
	char *field[3] = { NULL, NULL, NULL };
	size_t count = 0;
	struct mount *found;

	for (char *part; (part = strsep(&entry, ":")) != NULL; count++) {
		if (count == 3 || *part == '\0') {
			slurm_error("pyxis: --container-mounts: invalid format");
			return -1;
		}
		field[count] = part;
	}
	if (count == 0) {
		slurm_error("pyxis: --container-mounts: invalid format");
		return -1;
	}
	if (field[1] == NULL)
		field[1] = field[0];
	if (!path_start(field[0]) && strcmp(field[0], "tmpfs") != 0 && strcmp(field[0], "umount") != 0) {
		slurm_error("pyxis: --container-mounts: source must be a relative or absolute path: %s", field[0]);
		return -1;
	}
	if (!path_start(field[1])) {
		slurm_error("pyxis: --container-mounts: destination must be a relative or absolute path: %s", field[1]);
		return -1;
	}
	for (char *plus = field[2]; plus != NULL && (plus = strchr(plus, '+')) != NULL;)
		*plus = ',';
	options.mounts = realloc(options.mounts, (options.mount_count + 1) * sizeof(*options.mounts));
	found = &options.mounts[options.mount_count++];
	found->source = strdup(field[0]);
	found->target = strdup(field[1]);
	found->flags = field[2] ? strdup(field[2]) : NULL;
	return 0;
}

/* A second --container-mounts is not added: Slurm hands the node only the last one. */
static int mounts(const char *value)
{
	char *copy = strdup(value), *rest = copy;
	int rc = 0;

	options.mount_count = 0;
	for (char *entry; rc == 0 && (entry = strsep(&rest, ",")) != NULL;) {
		if (*entry == '\0') {
			slurm_error("pyxis: --container-mounts: invalid format");
			rc = -1;
		} else {
			rc = mount_entry(entry);
		}
	}
	free(copy);
	return rc;
}

static int name(const char *value)
{
	static const char *const words[] = { "auto", "create", "exec", "no_exec" };
	char *copy = strdup(value), *colon = strchr(copy, ':');
	int found = REUSE_AUTO;

	if (colon != NULL) {
		*colon++ = '\0';
		for (found = REUSE_NO_EXEC; found >= 0 && strcmp(words[found], colon) != 0;)
			found--;
	}
	if (found < 0) {
		slurm_error("pyxis: --container-name: flag must be auto, create, exec or no_exec");
		return -1;
	}
	if (*copy == '\0' || strchr(copy, '/') != NULL) {
		slurm_error("pyxis: --container-name: name must not be empty or contain a slash");
		return -1;
	}
	options.reuse = found;
	return once(&options.name, "--container-name", copy);
}

static int save(const char *value)
{
	size_t length = strlen(value);

	if (length == 0 || value[length - 1] == '/') {
		slurm_error("pyxis: --container-save: target must be a file");
		return -1;
	}
	return once(&options.save, "--container-save", value);
}

static int env(const char *value)
{
	char *copy = strdup(value);

	options.env_count = 0;
	for (char *entry; (entry = strsep(&copy, ",")) != NULL;) {
		if (*entry == '\0')
			continue;
		options.env = realloc(options.env, (options.env_count + 1) * sizeof(*options.env));
		options.env[options.env_count++] = strdup(entry);
	}
	return 0;
}

static int flip(int *slot, int value, const char *what)
{
	if (*slot != -1 && *slot != value) {
		slurm_error("pyxis: both options %s were given", what);
		return -1;
	}
	*slot = value;
	return 0;
}

static int take(int val, const char *value)
{
	switch ((enum option)val) {
	case OPT_IMAGE: return image(value);
	case OPT_MOUNTS: return mounts(value);
	case OPT_WORKDIR: return once(&options.workdir, "--container-workdir", value);
	case OPT_NAME: return name(value);
	case OPT_SAVE: return save(value);
	case OPT_ENV: return env(value);
	case OPT_UNSHARE: return once(&options.unshare, "--container-unshare", value);
	case OPT_MOUNT_HOME: return flip(&options.mount_home, 1, "--[no-]container-mount-home");
	case OPT_NO_MOUNT_HOME: return flip(&options.mount_home, 0, "--[no-]container-mount-home");
	case OPT_REMAP_ROOT: return flip(&options.remap_root, 1, "--[no-]container-remap-root");
	case OPT_NO_REMAP_ROOT: return flip(&options.remap_root, 0, "--[no-]container-remap-root");
	case OPT_ENTRYPOINT: return flip(&options.entrypoint, 1, "--[no-]container-entrypoint");
	case OPT_NO_ENTRYPOINT: return flip(&options.entrypoint, 0, "--[no-]container-entrypoint");
	case OPT_ENTRYPOINT_LOG: return flip(&options.entrypoint_log, 1, "--container-entrypoint-log");
	case OPT_WRITABLE: return flip(&options.writable, 1, "--container-writable and --container-readonly");
	case OPT_READONLY: return flip(&options.writable, 0, "--container-writable and --container-readonly");
	}
	return -1;
}

static int callback(int val, const char *value, int remote)
{
	(void)remote;
	said[val] = true;
	return take(val, value);
}

#define WITH(option, argument, text) \
	{ option, argument, "[pyxis stand-in] " text, 1, 0, callback }
#define BARE(option, text) \
	{ option, NULL, "[pyxis stand-in] " text, 0, 0, callback }

static struct spank_option table[] = {
	[OPT_IMAGE] = WITH("container-image", "[USER@][REGISTRY#]IMAGE[:TAG]|PATH", "the image to use"),
	[OPT_MOUNTS] = WITH("container-mounts", "SRC:DST[:FLAGS][,SRC:DST...]", "bind mounts"),
	[OPT_WORKDIR] = WITH("container-workdir", "PATH", "working directory inside the container"),
	[OPT_NAME] = WITH("container-name", "NAME[:auto|create|exec|no_exec]", "name of a root that stays"),
	[OPT_SAVE] = WITH("container-save", "PATH", "save the root as a squashfs file"),
	[OPT_ENV] = WITH("container-env", "NAME[,NAME...]", "variables that beat the image's"),
	[OPT_UNSHARE] = WITH("container-unshare", "NAMESPACE[,NAMESPACE...]", "further namespaces"),
	[OPT_MOUNT_HOME] = BARE("container-mount-home", "mount the home directory"),
	[OPT_NO_MOUNT_HOME] = BARE("no-container-mount-home", "do not mount the home directory"),
	[OPT_REMAP_ROOT] = BARE("container-remap-root", "be root inside the container"),
	[OPT_NO_REMAP_ROOT] = BARE("no-container-remap-root", "stay yourself inside the container"),
	[OPT_ENTRYPOINT] = BARE("container-entrypoint", "run the image's entrypoint"),
	[OPT_NO_ENTRYPOINT] = BARE("no-container-entrypoint", "do not run the image's entrypoint"),
	[OPT_ENTRYPOINT_LOG] = BARE("container-entrypoint-log", "print what the entrypoint prints"),
	[OPT_WRITABLE] = BARE("container-writable", "make the root writable"),
	[OPT_READONLY] = BARE("container-readonly", "make the root read-only"),
};

int options_register(spank_t spank)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		table[i].val = i;
		if (spank_option_register(spank, &table[i]) != ESPANK_SUCCESS)
			return -1;
	}
	return 0;
}

/* Neither 0 nor 1 where the text is no boolean: such a value is silently ignored. */
static int boolean(const char *text)
{
	static const char *const yes[] = { "1", "true", "yes", "y" }, *const no[] = { "0", "false", "no", "n" };

	for (size_t i = 0; i < 4; i++) {
		if (strcasecmp(text, yes[i]) == 0)
			return 1;
		if (strcasecmp(text, no[i]) == 0)
			return 0;
	}
	return -1;
}

int options_environment(const char *(*get)(void *where, const char *name), void *where)
{
	static const struct { const char *name; enum option yes, no; bool value; } variables[] = {
		{ "PYXIS_CONTAINER_IMAGE", OPT_IMAGE, OPT_IMAGE, true },
		{ "PYXIS_CONTAINER_MOUNTS", OPT_MOUNTS, OPT_MOUNTS, true },
		{ "PYXIS_CONTAINER_WORKDIR", OPT_WORKDIR, OPT_WORKDIR, true },
		{ "PYXIS_CONTAINER_NAME", OPT_NAME, OPT_NAME, true },
		{ "PYXIS_CONTAINER_SAVE", OPT_SAVE, OPT_SAVE, true },
		{ "PYXIS_CONTAINER_ENV", OPT_ENV, OPT_ENV, true },
		{ "PYXIS_CONTAINER_UNSHARE", OPT_UNSHARE, OPT_UNSHARE, true },
		{ "PYXIS_CONTAINER_MOUNT_HOME", OPT_MOUNT_HOME, OPT_NO_MOUNT_HOME, false },
		{ "PYXIS_CONTAINER_REMAP_ROOT", OPT_REMAP_ROOT, OPT_NO_REMAP_ROOT, false },
		{ "PYXIS_CONTAINER_ENTRYPOINT", OPT_ENTRYPOINT, OPT_NO_ENTRYPOINT, false },
		{ "PYXIS_CONTAINER_ENTRYPOINT_LOG", OPT_ENTRYPOINT_LOG, OPT_ENTRYPOINT_LOG, false },
		{ "PYXIS_CONTAINER_WRITABLE", OPT_WRITABLE, OPT_READONLY, false },
		{ "PYXIS_CONTAINER_READONLY", OPT_READONLY, OPT_WRITABLE, false },
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = get(where, variables[i].name);
		int on = value ? boolean(value) : -1;
		enum option chosen = on == 0 ? variables[i].no : variables[i].yes;

		if (value == NULL || said[variables[i].yes] || said[variables[i].no])
			continue;
		if (!variables[i].value && (on == -1 || (on == 0 && variables[i].yes == variables[i].no)))
			continue;
		if (take(variables[i].value ? variables[i].yes : chosen, value) != 0)
			return -1;
		said[variables[i].yes] = said[variables[i].no] = true;
	}
	return 0;
}

bool options_container(void)
{
	return options.image != NULL || options.name != NULL;
}

void options_ignored(void (*tell)(const char *option))
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (said[i] && i != OPT_IMAGE && i != OPT_NAME)
			tell(table[i].name);
}
