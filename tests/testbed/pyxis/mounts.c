/* What a container sees: the node's /proc, /sys and /dev, fresh folders, and the mounts that users asked for. */
#define _GNU_SOURCE
#include "container.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int resolve(int rootfd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };

	int found;

	/* With .. in a path the kernel asks to try again while anything on the machine is being mounted or renamed. */
	do
		found = syscall(SYS_openat2, rootfd, path, &how, sizeof(how));
	while (found < 0 && errno == EAGAIN);
	return found;
}

int place(int rootfd, const char *path, bool folder)
{
	char *parent, *slash;
	int found = resolve(rootfd, path), above, made;

	if (found >= 0 || errno != ENOENT)
		return found;
	parent = strdup(path);
	while ((slash = strrchr(parent, '/')) != NULL && slash[1] == '\0' && slash != parent)
		*slash = '\0';
	if (slash == NULL || slash[1] == '\0') {
		free(parent);
		return -1;
	}
	*slash = '\0';
	above = place(rootfd, slash == parent ? "/" : parent, true);
	if (above < 0)
		return -1;
	if (folder)
		made = mkdirat(above, slash + 1, 0700);
	else if ((made = openat(above, slash + 1, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) >= 0)
		close(made);
	close(above);
	free(parent);
	return made < 0 && errno != EEXIST ? -1 : resolve(rootfd, path);
}

/* Flags of a mount that a user namespace may not take away. */
static unsigned long locked(const char *at)
{
	struct statvfs found;
	unsigned long flags = 0;

	if (statvfs(at, &found) != 0)
		return 0;
	flags |= found.f_flag & ST_RDONLY ? MS_RDONLY : 0;
	flags |= found.f_flag & ST_NOSUID ? MS_NOSUID : 0;
	flags |= found.f_flag & ST_NODEV ? MS_NODEV : 0;
	flags |= found.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
	flags |= found.f_flag & ST_NOATIME ? MS_NOATIME : 0;
	flags |= found.f_flag & ST_NODIRATIME ? MS_NODIRATIME : 0;
	flags |= found.f_flag & ST_RELATIME ? MS_RELATIME : 0;
	return flags;
}

static int refused(const char *source, const char *target)
{
	dprintf(2, "enroot-mount: failed to mount: %s at %s: %s\n", source, target, strerror(errno));
	return -1;
}

/* Options that are flags of a mount; x-* are ours; the rest is the file system's own. */
static unsigned long flags_of(const char *options, char *data, size_t size)
{
	static const struct { const char *word; unsigned long flag; } words[] = {
		{ "ro", MS_RDONLY }, { "nosuid", MS_NOSUID }, { "nodev", MS_NODEV }, { "noexec", MS_NOEXEC },
		{ "rw", 0 }, { "bind", 0 }, { "rbind", 0 }, { "private", 0 }, { "slave", 0 }, { "nofail", 0 },
	};
	char *copy = strdup(options), *rest = copy;
	unsigned long flags = 0;

	*data = '\0';
	for (char *word; (word = strsep(&rest, ",")) != NULL;) {
		size_t i = 0;

		while (i < sizeof(words) / sizeof(*words) && strcmp(words[i].word, word) != 0)
			i++;
		if (i < sizeof(words) / sizeof(*words))
			flags |= words[i].flag;
		else if (*word != '\0' && strncmp(word, "x-", 2) != 0)
			snprintf(data + strlen(data), size - strlen(data), "%s%s", *data ? "," : "", word);
	}
	free(copy);
	return flags;
}

static int mount_tmpfs(int rootfd, const char *target, const char *options)
{
	char at[64], data[512];
	unsigned long flags = flags_of(options, data, sizeof(data));
	int fd = place(rootfd, target, true);

	if (fd < 0)
		return refused("tmpfs", target);
	snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
	if (mount("tmpfs", at, "tmpfs", flags, data) != 0)
		return refused("tmpfs", target);
	close(fd);
	return 0;
}

static int mount_bind(int rootfd, const char *source, const char *target, const char *options)
{
	char at[64], data[512];
	unsigned long flags = flags_of(options, data, sizeof(data));
	struct stat is;
	int fd;

	if (stat(source, &is) != 0 || (fd = place(rootfd, target, S_ISDIR(is.st_mode))) < 0)
		return refused(source, target);
	snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
	if (mount(source, at, NULL, MS_BIND | MS_REC, NULL) != 0)
		return refused(source, target);
	close(fd);
	if (flags == 0)
		return 0;
	fd = resolve(rootfd, target);
	snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
	if (fd < 0 || mount(NULL, at, NULL, MS_REMOUNT | MS_BIND | flags | locked(at), NULL) != 0)
		return refused(source, target);
	close(fd);
	return 0;
}

static int mount_entry(int rootfd, const struct mntent *entry)
{
	char at[64];
	int fd;

	if (strcmp(entry->mnt_fsname, "tmpfs") == 0)
		return mount_tmpfs(rootfd, entry->mnt_dir, entry->mnt_opts);
	if (strcmp(entry->mnt_fsname, "umount") != 0)
		return mount_bind(rootfd, entry->mnt_fsname, entry->mnt_dir, entry->mnt_opts);
	fd = resolve(rootfd, entry->mnt_dir);
	snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
	if (fd < 0 || umount2(at, MNT_DETACH) != 0)
		return refused("umount", entry->mnt_dir);
	close(fd);
	return 0;
}

/* What the user asked for is written as lines of a shell's script, unquoted inside double quotes, as the real one's. */
static FILE *asked(const struct container *box)
{
	char *script = NULL;
	size_t size = 0;
	FILE *text = open_memstream(&script, &size), *lines = tmpfile();
	pid_t shell;
	int status = -1;

	for (size_t i = 0; i < options.mount_count; i++) {
		const struct mount *each = &options.mounts[i];
		const char *parts[2] = { each->source, each->target };

		fputs("echo \"", text);
		for (size_t p = 0; p < 2; p++, fputs(" ", text))
			for (const char *c = parts[p]; *c != '\0'; c++)
				*c == ' ' ? fputs("\\040", text) : fputc(*c, text);
		fprintf(text, "none x-create=auto,rbind%s%s\"\n", each->flags ? "," : "", each->flags ? each->flags : "");
	}
	fclose(text);
	fflush(lines);
	shell = fork();
	if (shell == 0) {
		dup2(fileno(lines), 1);
		execle("/bin/bash", "bash", "-c", script, NULL, box->env);
		_exit(127);
	}
	free(script);
	if (shell < 0 || waitpid(shell, &status, 0) < 0 || status != 0)
		return NULL;
	rewind(lines);
	return lines;
}

/* The image's own /etc/fstab, which names folders below the root as ${ENROOT_ROOTFS}. */
static int image_mounts(const struct container *box, int rootfd)
{
	static const char word[] = "${ENROOT_ROOTFS}";
	int fd = openat(rootfd, "etc/fstab", O_RDONLY | O_CLOEXEC), rc = 0;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct mntent *entry;
	char path[4096];

	while (file != NULL && rc == 0 && (entry = getmntent(file)) != NULL) {
		if (strncmp(entry->mnt_fsname, word, sizeof(word) - 1) == 0) {
			snprintf(path, sizeof(path), "%s%s", box->root, entry->mnt_fsname + sizeof(word) - 1);
			close(place(rootfd, entry->mnt_fsname + sizeof(word) - 1, true));
			entry->mnt_fsname = path;
		}
		rc = mount_entry(rootfd, entry);
	}
	if (file != NULL)
		fclose(file);
	return rc;
}

static int system_mounts(int rootfd)
{
	static const char *const shared[] = { "/proc", "/sys", "/dev" }, *const fresh[] = { "/tmp", "/var/run", "/var/lock" };
	static const char *const files[] = { "/etc/hosts", "/etc/hostname", "/etc/resolv.conf" };

	for (size_t i = 0; i < 3; i++)
		if (mount_bind(rootfd, shared[i], shared[i], "rbind") != 0)
			return -1;
	for (size_t i = 0; i < 3; i++)
		if (mount_tmpfs(rootfd, fresh[i], "nosuid,nodev,mode=755") != 0)
			return -1;
	for (size_t i = 0; i < 3; i++)
		if (access(files[i], R_OK) == 0 && mount_bind(rootfd, files[i], files[i], "ro") != 0)
			return -1;
	return 0;
}

int mounts_make(const struct container *box, int rootfd, const char *home)
{
	const char *pmix = env_get(box->env, "PMIX_SERVER_TMPDIR");
	struct mntent *entry;
	FILE *lines;

	if (system_mounts(rootfd) != 0 || image_mounts(box, rootfd) != 0)
		return -1;
	if (box->mount_home && mount_bind(rootfd, home, home, "rbind") != 0)
		return -1;
	if (box->pmi && pmix != NULL && mount_bind(rootfd, pmix, pmix, "rbind") != 0)
		return -1;
	if (box->script != NULL && mount_bind(rootfd, box->script, box->script, "ro") != 0)
		return -1;
	if ((lines = asked(box)) == NULL)
		return -1;
	while ((entry = getmntent(lines)) != NULL)
		if (mount_entry(rootfd, entry) != 0)
			return -1;
	fclose(lines);
	return 0;
}
