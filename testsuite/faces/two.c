/* Two MPI libraries in one process. Arguments: first library, "global" or "local", second library,
   "global" or "local", and which is initialised: "first", "second" or "both", in that order. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *load(const char *file, const char *scope)
{
    int flags = RTLD_NOW | (strcmp(scope, "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
    void *library = dlopen(file, flags);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    return library;
}

static int call(void *library, const char *name)
{
    int (*function)(int *, char ***) = (int (*)(int *, char ***))dlsym(library, name);
    return function(NULL, NULL);
}

static int start(void *library)
{
    return call(library, "MPI_Init");
}

static int stop(void *library)
{
    int (*function)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
    return function();
}

int main(int argc, char **argv)
{
    void *first, *second;
    int with_first, with_second;
    if (argc != 6)
        return 64;
    first = load(argv[1], argv[2]);
    second = load(argv[3], argv[4]);
    if (!first || !second)
        return 65;
    with_first = strcmp(argv[5], "second") != 0;
    with_second = strcmp(argv[5], "first") != 0;
    if (with_first && start(first) != 0)
        return 1;
    if (with_second && start(second) != 0)
        return 1;
    if (with_first && stop(first) != 0)
        return 2;
    if (with_second && stop(second) != 0)
        return 2;
    puts("ok");
    return 0;
}
