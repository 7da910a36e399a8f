/* The options of the pyxis stand-in: what users may say, parsed and refused as pyxis 0.24 was seen to do. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <stddef.h>

enum reuse { REUSE_AUTO, REUSE_CREATE, REUSE_EXEC, REUSE_NO_EXEC };

enum option {
	OPT_IMAGE, OPT_MOUNTS, OPT_WORKDIR, OPT_NAME, OPT_SAVE, OPT_ENV, OPT_UNSHARE,
	OPT_MOUNT_HOME, OPT_NO_MOUNT_HOME, OPT_REMAP_ROOT, OPT_NO_REMAP_ROOT,
	OPT_ENTRYPOINT, OPT_NO_ENTRYPOINT, OPT_ENTRYPOINT_LOG, OPT_WRITABLE, OPT_READONLY,
};

struct mount {
	char *source, *target, *flags;
};

/* Switches are -1 where nobody said anything. */
struct options {
	char *image, *workdir, *name, *save, *unshare;
	enum reuse reuse;
	struct mount *mounts;
	size_t mount_count;
	char **env;
	size_t env_count;
	int mount_home, remap_root, entrypoint, entrypoint_log, writable;
};

extern struct options options;

/* Register the options with the program that is being run; for the init callback. */
int options_register(spank_t spank);

/* Take what PYXIS_CONTAINER_* say where the command line says nothing; `get` finds a variable. 0, or -1. */
int options_environment(const char *(*get)(void *where, const char *name), void *where);

/* Is a container wanted? */
bool options_container(void);

/* Name the options that mean nothing without an image or a name, by `tell`. */
void options_ignored(void (*tell)(const char *option));

#endif
