/* publish: bytes → a file, whole or not at all, also when the disk fills up or the power fails
   (Pillai et al., OSDI 2014, "All File Systems Are Not Created Equal"). */
#include "src/sha256.h"
#include "src/store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void store_seal(const void *bytes, size_t size, char seal[SEAL_SIZE + 1]) {
    char hex[65];
    sha256_text(bytes, size, hex);
    snprintf(seal, SEAL_SIZE + 1, SEAL_MARK "%s\n", hex);
}

int store_publish(StoreWriter *writer, const char *path) {
    size_t size;
    char *image = store_image(writer, SEAL_SIZE + 1, &size);
    store_discard(writer);
    store_seal(image, size, image + size);
    size += SEAL_SIZE;

    const char *reason;
    StoreReader *reader = store_open_bytes(image, size, &reason);
    CHECK(reader, "the finished file cannot be opened again: %s", reason);
    store_close(reader);
    int error = store_publish_bytes(image, size, path);
    free(image);
    return error;
}

static int write_all(int fd, const char *bytes, size_t size) {
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

/* fsync alone leaves the bytes in the drive's own cache on macOS. */
static int sync_file(int fd) {
#ifdef F_FULLFSYNC
    if (fcntl(fd, F_FULLFSYNC) == 0) return 0;
#endif
    return fsync(fd) == 0 ? 0 : errno;
}

static int write_file(const char *path, const void *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return errno;
    int error = write_all(fd, bytes, size);
    if (!error) error = sync_file(fd);
    if (close(fd) != 0 && !error) error = errno;
    return error;
}

/* The new name is in the folder, not in the file. */
int store_sync_folder(const char *path) {
    char *folder = copy_text(path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = 0;
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;
    if (!error) {
        /* EINVAL: a file system that does not sync folders. */
        if (fsync(fd) != 0 && errno != EINVAL) error = errno;
        close(fd);
    }
    free(folder);
    return error;
}

int store_publish_bytes(const void *bytes, size_t size, const char *path) {
    char *temporary = format_text("%s.tmp", path);
    int error = write_file(temporary, bytes, size);
    if (!error && rename(temporary, path) != 0) error = errno;
    if (error)
        unlink(temporary);
    else
        error = store_sync_folder(path);
    free(temporary);
    return error;
}
