#!/usr/bin/env python3
"""check_waveform.py ALL.vcd PART.vcd FROM TO NAME...: a part of a waveform has the values of the whole
one in every cycle from FROM on and before TO, for the signals of those names and no others. TO may be
`cut`: the last time of the part, behind which the whole one has more changes than 50."""
import collections
import sys


def read(path):
    """The values of each signal at each time they change: {name: [(time, value), ...]}, the times."""
    names, changes, times = {}, collections.defaultdict(list), []
    with open(path, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if line.startswith("$var"):
                names[words[3]] = words[4]
                changes[words[4]] = []
            elif line.startswith("#"):
                times.append(int(line[1:]))
            elif line.startswith("b"):
                changes[names[words[1]]].append((times[-1], int(words[0][1:], 2)))
    return changes, times


def value_at(changes, time):
    return [value for at, value in changes if at <= time][-1]


def main():
    whole, _ = read(sys.argv[1])
    part, times = read(sys.argv[2])
    begin, names = int(sys.argv[3]), sys.argv[5:]
    end = times[-1] if sys.argv[4] == "cut" else int(sys.argv[4])
    assert times == sorted(times) and times[0] == begin and times[-1] == end, times
    assert set(part) == set(names), set(part)
    for name in names:
        assert all(begin <= at < end for at, _ in part[name]), name
        for time in range(begin, end):
            assert value_at(whole[name], time) == value_at(part[name], time), (name, time)
    if sys.argv[4] == "cut":
        def count(before):
            return sum(0 < at < before for name in names for at, _ in whole[name])
        assert count(end) <= 50 < count(end + 1), (count(end), count(end + 1))


main()
