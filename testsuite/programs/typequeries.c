// ranks: 1
// Sizes, extents, names and attributes of datatypes (MPI-5.0 §3.2.2, §5.1.7 to §5.1.9, §7.7).
#include "check.h"
#include <stdint.h>
#include <wchar.h>

struct known {
    MPI_Datatype type;
    size_t size;
    const char *name;
};

static void predefined(void) {
    const struct known all[] = {
        {MPI_CHAR, sizeof(char), "MPI_CHAR"},
        {MPI_SIGNED_CHAR, 1, "MPI_SIGNED_CHAR"},
        {MPI_UNSIGNED_CHAR, 1, "MPI_UNSIGNED_CHAR"},
        {MPI_SHORT, sizeof(short), "MPI_SHORT"},
        {MPI_UNSIGNED_SHORT, sizeof(short), "MPI_UNSIGNED_SHORT"},
        {MPI_INT, sizeof(int), "MPI_INT"},
        {MPI_UNSIGNED, sizeof(int), "MPI_UNSIGNED"},
        {MPI_LONG, sizeof(long), "MPI_LONG"},
        {MPI_UNSIGNED_LONG, sizeof(long), "MPI_UNSIGNED_LONG"},
        {MPI_LONG_LONG, sizeof(long long), NULL},
        {MPI_UNSIGNED_LONG_LONG, sizeof(long long), "MPI_UNSIGNED_LONG_LONG"},
        {MPI_FLOAT, sizeof(float), "MPI_FLOAT"},
        {MPI_DOUBLE, sizeof(double), "MPI_DOUBLE"},
        {MPI_LONG_DOUBLE, sizeof(long double), "MPI_LONG_DOUBLE"},
        {MPI_WCHAR, sizeof(wchar_t), "MPI_WCHAR"},
        {MPI_C_BOOL, sizeof(_Bool), "MPI_C_BOOL"},
        {MPI_INT8_T, 1, "MPI_INT8_T"},
        {MPI_UINT16_T, 2, "MPI_UINT16_T"},
        {MPI_INT32_T, 4, "MPI_INT32_T"},
        {MPI_UINT64_T, 8, "MPI_UINT64_T"},
        {MPI_C_FLOAT_COMPLEX, 8, NULL},
        {MPI_C_DOUBLE_COMPLEX, 16, "MPI_C_DOUBLE_COMPLEX"},
        {MPI_AINT, sizeof(MPI_Aint), "MPI_AINT"},
        {MPI_OFFSET, sizeof(MPI_Offset), "MPI_OFFSET"},
        {MPI_COUNT, sizeof(MPI_Count), "MPI_COUNT"},
        {MPI_BYTE, 1, "MPI_BYTE"},
        {MPI_PACKED, 1, "MPI_PACKED"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int bytes = -1, length = -1;
        MPI_Aint lower = -1, extent = -1;
        char name[MPI_MAX_OBJECT_NAME];
        OK(MPI_Type_size(all[i].type, &bytes));
        EQUAL(bytes, all[i].size);
        OK(MPI_Type_get_extent(all[i].type, &lower, &extent));
        EQUAL(lower, 0);
        EQUAL(extent, all[i].size);
        OK(MPI_Type_get_name(all[i].type, name, &length));
        EQUAL(strlen(name), length);
        CHECK(!all[i].name || strcmp(name, all[i].name) == 0, "%s is called %s", all[i].name, name);
    }
}

// The pair types of MINLOC and MAXLOC: data without gaps in size, with gaps in extent.
static void pairs(void) {
    struct { double value; int index; } pair;
    int bytes;
    MPI_Aint lower, extent;
    OK(MPI_Type_size(MPI_DOUBLE_INT, &bytes));
    EQUAL(bytes, sizeof(double) + sizeof(int));
    OK(MPI_Type_get_extent(MPI_DOUBLE_INT, &lower, &extent));
    EQUAL(extent, sizeof pair);
    OK(MPI_Type_size(MPI_2INT, &bytes));
    EQUAL(bytes, 2 * sizeof(int));
}

// A struct whose last member ends off its alignment is padded (§5.1.6).
static void padding(void) {
    int lengths[] = {1, 1}, bytes;
    MPI_Aint places[] = {0, 8}, lower, extent;
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR}, type, moved;
    OK(MPI_Type_create_struct(2, lengths, places, types, &type));
    OK(MPI_Type_size(type, &bytes));
    EQUAL(bytes, 9);
    OK(MPI_Type_get_extent(type, &lower, &extent));
    EQUAL(extent, 16);
    OK(MPI_Type_get_true_extent(type, &lower, &extent));
    EQUAL(extent, 9);
    OK(MPI_Type_create_resized(type, -4, 40, &moved));
    OK(MPI_Type_get_extent(moved, &lower, &extent));
    EQUAL(lower, -4);
    EQUAL(extent, 40);
    MPI_Count count_lower, count_extent, count_bytes;
    OK(MPI_Type_get_extent_x(moved, &count_lower, &count_extent));
    EQUAL(count_lower, -4);
    EQUAL(count_extent, 40);
    OK(MPI_Type_size_x(moved, &count_bytes));
    EQUAL(count_bytes, 9);
    OK(MPI_Type_set_name(moved, "moved"));
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    OK(MPI_Type_get_name(moved, name, &length));
    CHECK(strcmp(name, "moved") == 0, "%s", name);
    OK(MPI_Type_free(&moved));
    OK(MPI_Type_free(&type));
}

static void matching_sizes(void) {
    MPI_Datatype type;
    int bytes;
    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
    OK(MPI_Type_size(type, &bytes));
    EQUAL(bytes, 8);
    OK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &type));
    OK(MPI_Type_size(type, &bytes));
    EQUAL(bytes, 4);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    predefined();
    pairs();
    padding();
    matching_sizes();
    MPI_Aint base, place;
    int words[10];
    OK(MPI_Get_address(&words[0], &base));
    OK(MPI_Get_address(&words[7], &place));
    EQUAL(MPI_Aint_diff(place, base), 7 * sizeof(int));
    EQUAL(MPI_Aint_add(base, 7 * sizeof(int)), place);
    return finish();
}
