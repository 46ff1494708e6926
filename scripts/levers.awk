# SPDX-License-Identifier: Apache-2.0
# The tables of docs/levers.md, from the times of runs and the CSV of npusim validate (levers.sh).

# Splits a line of CSV; quotes are doubled inside quoted fields.
function csv(line, f,    n, c, i, quoted) {
    n = 1
    f[1] = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "\"")
            quoted = !quoted
        else if (c == "," && !quoted)
            f[++n] = ""
        else
            f[n] = f[n] c
    }
    return n
}
function us(time,    part) {
    split(time, part, " ")
    return part[1]
}
function ratio(before, after) { return sprintf("x%.3f", after / before) }
function way(r) { return r > 1.01 ? 1 : r < 0.99 ? -1 : 0 }
function settings(s) { return s == "-" ? "as it is" : "`" s "`" }
function fail(text) { print "levers.awk: " text >"/dev/stderr"; failed = 1; exit 2 }

BEGIN {
    while ((getline line <times) > 0) {
        split(line, f, "|")
        time[f[1] "|" f[2]] = f[3]
    }
    getline line <rows
    n = csv(line, f)
    for (i = 1; i <= n; i++)
        column[f[i]] = i
    while ((getline line <rows) > 0) {
        csv(line, f)
        measured[f[column["row"]]] = f[column["measured"]]
        predicted[f[column["row"]]] = f[column["predicted"]]
    }
}
/^#/ || /^$/ { next }
/^==/ {
    print "\n## " substr($0, 4) "\n"
    print "| lever | how | model: before | after | | measured | rows | |"
    print "|---|---|---|---|---|---|---|---|"
    next
}
# Notes a wrong direction; r and m are ratios after / before of the model and of the device.
function judge(what, r, m, note) {
    pairs++
    if (way(r) == way(m))
        return note
    wrongs++
    wrong = wrong sprintf("\n* %s: the model x%.3f, the device x%.3f", what, r, m)
    if (note != "")
        wrong = wrong " (" note ")"
    return "**wrong**" (note == "" ? "" : "; " note)
}
$1 == "unit" {
    graph = $3
    sub(/^.*\//, "", graph)
    printf "| %s | %s: %s | %s |\n", $2, graph, settings($4), time[$3 "|" $4]
}
$1 == "run" {
    before = time[$3 "|" $4]
    after = time[$3 "|" $5]
    r = before ~ /never/ || after ~ /never/ ? "" : ratio(us(before), us(after))
    graph = $3
    sub(/^.*\//, "", graph)
    note = $6
    device = " | "
    if ($7 != "") { # measured: before, after, unit, rows
        split($7, f, " ")
        note = judge($2, us(after) / us(before), f[2] / f[1], note)
        device = sprintf("%s to %s %s, x%.3f | %s", f[1], f[2], f[3], f[2] / f[1], f[4])
    }
    printf "| %s | %s: %s, %s | %s | %s | %s | %s | %s |\n", $2, graph, settings($4), settings($5),
        before, after, r, device, note
}
$1 == "row" {
    if (!($4 in measured) || !($5 in measured))
        fail("no row '" $4 "' or '" $5 "'")
    m = measured[$5] / measured[$4]
    p = predicted[$5] / predicted[$4]
    note = judge($2, p, m, $6)
    printf "| %s | %s | %.1f us | %.1f us | x%.3f | %g to %g us, x%.3f | %s, %s | %s |\n", $2, $3,
        predicted[$4], predicted[$5], p, measured[$4], measured[$5], m, $4, $5, note
}
END {
    if (failed)
        exit 2
    print "\n## Where the model is wrong\n"
    printf "%d of %d levers that were measured:\n%s\n", wrongs, pairs, wrong
}
