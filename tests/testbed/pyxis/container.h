/* A container of the stand-in on one node: its root, its namespaces, its environment. */
#ifndef CONTAINER_H
#define CONTAINER_H

#include <stdbool.h>
#include <stdio.h>
#include <slurm/slurm.h>
#include <stdint.h>
#include <sys/types.h>

struct container {
	const char *image, *squashfs;	/* as the user said it, and the file that is unpacked */
	char root[3072];		/* the root's folder on this node */
	bool remap_root, mount_home, writable, entrypoint, pmi;
	const char *script;		/* the batch script, which must be visible inside */
	char **env;			/* the job's */
};

/* The value of `name` in an environment, or NULL. */
const char *env_get(char **env, const char *name);

/* Where programs' words go until somebody prints them. */
int log_file(void);

/* Print what programs said, each line after `pyxis:`, and forget it. */
void log_print(void);
void log_forget(void);

/* Run a program to its end as the calling user, its words kept for the log. Its exit code, or 128 + signal. */
int program(char *const argv[], char **env);

/* Make the root out of the image. 0, or -1 with the cause in the log. */
int container_create(const struct container *box);

/* Start the container; its first process stops itself once all is mounted. Its id, or -1 with the cause in the log. */
pid_t container_start(const struct container *box);

/* A process that runs in the root, or 0. */
pid_t container_running(const char *root);

/* Make the calling process a part of the container that `pid` is in, which may not change owners. 0, or -1. */
int container_enter(pid_t pid);

/* Mount all that the container has, with its root in `rootfd`, at the time when `root` is still below the node's. */
int mounts_make(const struct container *box, int rootfd, const char *home);

/* Make a folder or file below the root where there is none, never leaving the root. An O_PATH descriptor, or -1. */
int place(int rootfd, const char *path, bool folder);

#endif
