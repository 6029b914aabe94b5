/* A GPU's driver of one function: what lies in [device_begin, device_end) is the device's. */
char *device_begin, *device_end;

int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer)
{
    char *address = (char *)pointer;
    if (address < device_begin || address >= device_end)
        return 1; /* invalid value: not mine */
    *(unsigned *)data = attribute == 2 ? 2 : 0;
    return 0;
}
