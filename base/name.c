// SPDX-License-Identifier: Apache-2.0
#include "name.h"

#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int npu_name_length(const char *text) {
    int n = 0;
    while (is_letter(text[n]) || (n > 0 && text[n] >= '0' && text[n] <= '9'))
        n++;
    return n;
}

bool npu_is_name(const char *text) {
    int length = npu_name_length(text);
    return length > 0 && text[length] == '\0';
}

bool npu_loop_split(const char *text, npu_loop_text *loop) {
    int name = npu_name_length(text);
    const char *in = text + name + strspn(text + name, " ");
    if (name == 0 || in == text + name || strncmp(in, "in ", 3) != 0)
        return false;
    const char *first = in + 3 + strspn(in + 3, " ");
    const char *dots = strstr(first, "..");
    if (dots == NULL)
        return false;
    const char *last = dots;
    while (last > first && last[-1] == ' ')
        last--;
    *loop = (npu_loop_text){name, first, (int)(last - first), dots + 2 + strspn(dots + 2, " ")};
    return true;
}
