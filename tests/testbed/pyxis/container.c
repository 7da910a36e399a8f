#define _GNU_SOURCE
#include "container.h"
#include "options.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const char *env_get(char **env, const char *name)
{
	size_t length = strlen(name);

	for (; env != NULL && *env != NULL; env++)
		if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
			return *env + length + 1;
	return NULL;
}

int log_file(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("log", MFD_CLOEXEC);
	return fd;
}

void log_print(void)
{
	FILE *file = fdopen(dup(log_file()), "r");
	char *line = NULL;
	size_t size = 0;

	rewind(file);
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		slurm_error("pyxis:     %s", line);
	}
	free(line);
	fclose(file);
	log_forget();
}

void log_forget(void)
{
	if (ftruncate(log_file(), 0) == 0)
		lseek(log_file(), 0, SEEK_SET);
}

static void quiet(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	dup2(null, 0);
	dup2(log_file(), 1);
	dup2(log_file(), 2);
}

int program(char *const argv[], char **env)
{
	int status = -1;
	pid_t pid;

	log_file();
	if ((pid = fork()) == 0) {
		quiet();
		execvpe(argv[0], argv, env);
		dprintf(2, "[ERROR] Command not found: %s\n", argv[0]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	if (WIFSIGNALED(status))
		slurm_error("pyxis: child %d terminated with signal %d", pid, WTERMSIG(status));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int container_create(const struct container *box)
{
	static char *bare[] = { "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C", NULL };
	char *words[] = { "unsquashfs", "-no-progress", "-no-xattrs", "-force", "-dest", (char *)box->root, (char *)box->squashfs, NULL };
	int fd = open(box->squashfs, O_RDONLY | O_CLOEXEC);
	char magic[4] = "";

	if (fd < 0) {
		dprintf(log_file(), "[ERROR] %s: %s\n", strerror(errno), box->squashfs);
		return -1;
	}
	if (read(fd, magic, sizeof(magic)) != sizeof(magic) || memcmp(magic, "hsqs", 4) != 0) {
		dprintf(log_file(), "[ERROR] Invalid image format: %s\n", box->squashfs);
		close(fd);
		return -1;
	}
	close(fd);
	if (mkdir(box->root, 0755) != 0) {
		const char *cause = errno == EEXIST ? "File already exists" : strerror(errno);

		dprintf(log_file(), "[ERROR] %s: %s\n", cause, box->root);
		return -1;
	}
	return program(words, bare) == 0 ? 0 : -1;
}

/* The environment of the container's first process, built from lines; later ones win. */
static char *start_env[4096];
static size_t start_count;

static void put(const char *line)
{
	size_t length = strcspn(line, "=");

	if (line[length] != '=' || length == 0)
		return;
	for (size_t i = 0; i < start_count; i++)
		if (strncmp(start_env[i], line, length + 1) == 0) {
			start_env[i] = strdup(line);
			return;
		}
	if (start_count + 1 < sizeof(start_env) / sizeof(*start_env))
		start_env[start_count++] = strdup(line);
}

static void put_lines(FILE *file)
{
	char *line = NULL;
	size_t size = 0;

	while (file != NULL && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		put(line);
	}
	free(line);
	if (file != NULL)
		fclose(file);
}

static bool identifier(const char *text)
{
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	for (; *text != '\0'; text++)
		if (!isalnum((unsigned char)*text) && *text != '_')
			return false;
	return true;
}

/* Named variables pass through a file of lines: of a value with newlines, the later ones are lines of their own. */
static int put_named(const struct container *box)
{
	for (size_t i = 0; i < options.env_count; i++) {
		const char *value = env_get(box->env, options.env[i]);
		char *text = NULL;

		if (strchr(options.env[i], '=') != NULL)
			continue;
		if (!identifier(options.env[i])) {
			dprintf(2, "/bin/bash: line 1: ${%s}: bad substitution\n", options.env[i]);
			return -1;
		}
		if (value == NULL || asprintf(&text, "%s=%s\n", options.env[i], value) < 0)
			continue;
		put_lines(fmemopen(text, strlen(text), "r"));
	}
	return 0;
}

static int build_env(const struct container *box, int rootfd, const char *user, const char *home)
{
	char text[4200];
	int fd = openat(rootfd, "etc/environment", O_RDONLY | O_CLOEXEC);

	put("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	snprintf(text, sizeof(text), "HOME=%s", home);
	put(text);
	snprintf(text, sizeof(text), "USER=%s", user);
	put(text);
	put("SHELL=/bin/sh");
	put_lines(fd < 0 ? NULL : fdopen(fd, "r"));
	return put_named(box);
}

static void known(int rootfd, const char *file, const char *line, const char *key)
{
	int fd = place(rootfd, file, false);
	char at[64], *text = NULL;
	size_t size = 0;
	FILE *stream;
	bool found = false;

	snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
	stream = fd < 0 ? NULL : fopen(at, "a+");
	while (stream != NULL && getline(&text, &size, stream) > 0)
		found = found || strncmp(text, key, strlen(key)) == 0;
	if (stream != NULL && !found)
		fputs(line, stream);
	if (stream != NULL)
		fclose(stream);
	free(text);
	close(fd);
}

/* Make the user and their home known inside. */
static void introduce(int rootfd, const struct passwd *user, const char *home, bool remap)
{
	char line[4200], key[300];

	snprintf(key, sizeof(key), "%s:", remap ? "root" : user->pw_name);
	snprintf(line, sizeof(line), "%sx:%d:%d::%s:/bin/sh\n", key, remap ? 0 : user->pw_uid, remap ? 0 : user->pw_gid, home);
	known(rootfd, "/etc/passwd", line, key);
	snprintf(line, sizeof(line), "%sx:%d:\n", key, remap ? 0 : user->pw_gid);
	known(rootfd, "/etc/group", line, key);
	close(place(rootfd, home, true));
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : write(fd, text, strlen(text));

	close(fd);
	return length == (ssize_t)strlen(text) ? 0 : -1;
}

static int own_namespaces(bool remap, uid_t uid, gid_t gid)
{
	char text[64];

	/* The caller became this user without an exec: only now may it write its own maps. */
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return -1;
	write_file("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "%d %d 1", remap ? 0 : uid, uid);
	if (write_file("/proc/self/uid_map", text) != 0)
		return -1;
	snprintf(text, sizeof(text), "%d %d 1", remap ? 0 : gid, gid);
	if (write_file("/proc/self/gid_map", text) != 0)
		return -1;
	return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL);
}

/* NVIDIA's hook wants its program where a GPU image, or the job, names devices. */
static int gpu_hook(const struct container *box)
{
	const char *devices = env_get(start_env, "NVIDIA_VISIBLE_DEVICES");

	if (devices == NULL)
		devices = env_get(box->env, "NVIDIA_VISIBLE_DEVICES");
	if (devices == NULL || *devices == '\0' || strcmp(devices, "void") == 0)
		return 0;
	if (access("/usr/bin/nvidia-container-cli", X_OK) == 0)
		return 0;
	dprintf(2, "[ERROR] Command not found: nvidia-container-cli, see https://github.com/NVIDIA/libnvidia-container\n");
	dprintf(2, "[ERROR] hooks.d/98-nvidia.sh exited with return code 1\n");
	return -1;
}

/* The rc.local of a root with /etc/rc keeps that from running the entrypoint. */
static void skip_entrypoint(const struct container *box, int rootfd)
{
	int fd;

	if (faccessat(rootfd, "etc/rc", F_OK, 0) != 0)
		return;
	fd = openat(rootfd, "etc/rc.local", O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0 && !box->entrypoint)
		dprintf(fd, "exec \"$@\"\n");
	close(fd);
}

static int change_root(const struct container *box, int rootfd)
{
	struct statvfs found;
	unsigned long flags = MS_REMOUNT | MS_BIND;

	if (fchdir(rootfd) != 0 || statvfs(".", &found) != 0)
		return -1;
	flags |= found.f_flag & ST_NOSUID ? MS_NOSUID : 0;
	flags |= found.f_flag & ST_NODEV ? MS_NODEV : 0;
	flags |= found.f_flag & ST_RELATIME ? MS_RELATIME : 0;
	flags |= found.f_flag & ST_NOATIME ? MS_NOATIME : 0;
	if (!box->writable && mount(NULL, ".", NULL, flags | MS_RDONLY, NULL) != 0)
		return -1;
	if (syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0)
		return -1;
	return 0;
}

/* In the child: become the container's first process. Returns only if that fails. */
static void become(const struct container *box)
{
	static char *plain[] = { "sh", "-l", "-c", "exec \"$@\"", "sh", "sh", "-c", "kill -STOP $$ ; exit 0", NULL };
	static char *rc[] = { "sh", "-l", "/etc/rc", "sh", "-c", "kill -STOP $$ ; exit 0", NULL };
	const char *login = env_get(box->env, "ENROOT_LOGIN_SHELL"), *start;
	struct passwd *user = getpwuid(getuid());
	const char *home = box->remap_root ? "/root" : user->pw_dir;
	int rootfd;

	if (own_namespaces(box->remap_root, user->pw_uid, user->pw_gid) != 0 ||
	    mount(box->root, box->root, NULL, MS_BIND | MS_REC, NULL) != 0 ||
	    (rootfd = open(box->root, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0) {
		dprintf(2, "enroot-nsenter: failed to create user namespace: %s\n", strerror(errno));
		return;
	}
	introduce(rootfd, user, home, box->remap_root);
	skip_entrypoint(box, rootfd);
	if (build_env(box, rootfd, box->remap_root ? "root" : user->pw_name, home) != 0 || gpu_hook(box) != 0 ||
	    mounts_make(box, rootfd, home) != 0)
		return;
	if (change_root(box, rootfd) != 0) {
		dprintf(2, "enroot-switchroot: failed to change root: %s\n", strerror(errno));
		return;
	}
	start = env_get(start_env, "HOME");
	if (chdir(start) != 0) {
		dprintf(2, "enroot-switchroot: failed to change directory: %s: %s\n", start, strerror(errno));
		return;
	}
	start_env[start_count] = NULL;
	if (login == NULL || strchr("nN0fF", *login) == NULL || *login == '\0')
		execve("/bin/sh", access("/etc/rc", F_OK) == 0 ? rc : plain, start_env);
	dprintf(2, "enroot-switchroot: failed to execute: /bin/sh: %s\n", strerror(errno));
}

pid_t container_start(const struct container *box)
{
	int status = 0;
	pid_t pid;

	log_file();
	if ((pid = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		quiet();
		become(box);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, WUNTRACED) < 0)
		return -1;
	if (WIFSTOPPED(status))
		return pid;
	slurm_error("pyxis: container start failed with error code: %d",
		    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return -1;
}

pid_t container_running(const char *root)
{
	struct stat want, is;
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	char path[300];
	pid_t found = 0;

	if (proc == NULL || stat(root, &want) != 0)
		return 0;
	while (found == 0 && (entry = readdir(proc)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/root/.", entry->d_name);
		if (isdigit((unsigned char)entry->d_name[0]) && stat(path, &is) == 0 && is.st_ino == want.st_ino &&
		    is.st_dev == want.st_dev)
			found = atoi(entry->d_name);
	}
	closedir(proc);
	return found;
}

/* Changing a file's owner succeeds and does nothing. */
static int swallow_chown(void)
{
	static const int calls[] = {
#ifdef SYS_chown
		SYS_chown,
#endif
#ifdef SYS_lchown
		SYS_lchown,
#endif
		SYS_fchown, SYS_fchownat,
	};
	struct sock_filter code[16];
	size_t count = 0, number = sizeof(calls) / sizeof(*calls);
	struct sock_fprog filter;

	code[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < number; i++)
		code[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], number - i, 0);
	code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO);
	filter = (struct sock_fprog){ .len = count, .filter = code };
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int container_enter(pid_t pid)
{
	char path[64];
	int user, mnt;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if ((user = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
		slurm_error("pyxis: unable to open user namespace file: %s", strerror(errno));
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	if ((mnt = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
		slurm_error("pyxis: unable to open mount namespace file: %s", strerror(errno));
		return -1;
	}
	if (setns(user, CLONE_NEWUSER) != 0 || setns(mnt, CLONE_NEWNS) != 0) {
		slurm_error("pyxis: couldn't join the container: %s", strerror(errno));
		return -1;
	}
	close(user);
	close(mnt);
	return swallow_chown();
}
