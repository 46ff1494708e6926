// SPDX-License-Identifier: Apache-2.0
// Config files as a tree of nodes that know where they stand. Parsing is libyaml's;
// this adds positions, the refusal of duplicate keys, and errors that name the nearest
// right word. Everything lives in the caller's arena.
#ifndef NPU_YAML_TREE_H
#define NPU_YAML_TREE_H

#include "error.h"
#include "mem.h"

typedef enum npu_yaml_kind { NPU_YAML_SCALAR, NPU_YAML_LIST, NPU_YAML_MAP } npu_yaml_kind;

typedef struct npu_yaml {
    npu_yaml_kind kind;
    npu_pos pos;             // of the first character (of a quoted text: after the quote)
    const char *text;        // scalars: the text; otherwise NULL
    int count;               // entries of a list or map
    struct npu_yaml **keys;  // maps: scalar nodes, in file order
    struct npu_yaml **items; // lists and maps: the values
} npu_yaml;

// In a list in [ ] the pieces of a call are one text again: "[pad(T, 16), 64]" has two entries.
// In { } they cannot be told from keys: that is an error which asks for quotes.

// Reads one document. NPU_IO when the file cannot be read (the error names it),
// NPU_BAD_INPUT for bad YAML, an anchor/alias, a duplicate key, a key that is no scalar, an
// empty file, or nesting deeper than 64. `path` is copied into the arena as pos.file.
npu_status npu_yaml_load(npu_arena *arena, const char *path, const npu_yaml **root, npu_error *err);
// The same from memory; `name` is what errors call it.
npu_status npu_yaml_parse(npu_arena *arena, const char *name, const char *text, size_t length,
                          const npu_yaml **root, npu_error *err);

// The value of `key`, or NULL. A NULL map has no keys.
const npu_yaml *npu_yaml_get(const npu_yaml *map, const char *key);
// The value of `key`; when absent: "WHAT needs the key 'KEY'" at the map's position.
npu_status npu_yaml_need(const npu_yaml *map, const char *what, const char *key,
                         const npu_yaml **value, npu_error *err);
// Fails unless the node is of this kind: "WHAT must be a map|a list|a single value".
npu_status npu_yaml_want(const npu_yaml *node, npu_yaml_kind kind, const char *what,
                         npu_error *err);
// Fails at the first key of `map` that is not in the NULL-terminated list `allowed`:
// "unknown key 'shap' in a tensor; did you mean 'shape'?". Also fails when it is no map.
npu_status npu_yaml_keys(const npu_yaml *map, const char *what, const char *const *allowed,
                         npu_error *err);
// true or false, nothing else: "WHAT must be true or false, not 'X'".
npu_status npu_yaml_bool(const npu_yaml *node, const char *what, bool *value, npu_error *err);
// The index in the NULL-terminated `names`, or "unknown WHAT 'X'; did you mean 'Y'?", or all
// names when none is near.
npu_status npu_yaml_choice(const npu_yaml *node, const char *what, const char *const *names,
                           int *index, npu_error *err);

// The name closest to `word` (edit distance with transpositions, the case of letters aside; at
// most a third of its length and at least 1, and something in common), or NULL. `names` has
// `count` entries.
const char *npu_nearest(const char *word, const char *const *names, int count);
// "; did you mean 'X'?" or "" into buf; returns buf.
const char *npu_did_you_mean(const char *word, const char *const *names, int count, char *buf,
                             int size);
// The same, or all names ("; there are a, b") when none is near.
const char *npu_did_you_mean_or(const char *word, const char *const *names, int count, char *buf,
                                int size);

// `relative` as seen from the folder of `from` (an absolute one is kept); in the arena.
// NULL when out of memory.
const char *npu_path_beside(npu_arena *arena, const char *from, const char *relative);

#endif
