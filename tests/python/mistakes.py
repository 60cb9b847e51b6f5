"""What new users get wrong in experiments and traces, with what was said once and what is said now.

Each entry has the file, the message, and the message before somebody read it as a newcomer (`SAME`
where it was good). Messages are without the name of the experiment; `…` stands for what
is left out.
"""

#: The message was good.
SAME = None

#: Parts of experiments that are right.
LOAD = '[workload]\nsynthetic = { n_requests = 100, size = "4 KiB", rate = "50/s" }\n'
SYSTEM = '[[system]]\nname = "one"\ndrive = "barracuda-es-750"\n'

#: A trace that is right.
CSV = "time_us,lba,blocks,op\n1,2,8,R\n"

EXPERIMENTS = {
    "empty experiment": (
        "",
        "workload: got nothing, need a table [workload] with trace, synthetic or jobs, or …",
        "workload: got nothing, need a value",
    ),
    "latin1 experiment": (
        (LOAD + SYSTEM.replace("one", "Größe")).encode("latin-1"),
        "got bytes that are not UTF-8, need a file of TOML: text in UTF-8",
        "got bytes that are not UTF-8, need a file of TOML",
    ),
    "dos line ends": (
        (LOAD + SYSTEM + "cuont = 2\n").replace("\n", "\r\n"),
        'system[0]: got key "cuont", need one of name, drive, drives, … did you mean "count"?',
        SAME,
    ),
    "unquoted text": (
        LOAD + "[[system]]\ndrive = exos-x18\n",
        '4:9: got exos-x18, need a number, true or false, or text in quotes: "exos-x18"',
        "4:9: got string values must be quoted, need literal string",
    ),
    "unquoted size": (
        '[workload]\nsynthetic = { n_requests = 100, size = 4 KiB, rate = "50/s" }\n' + SYSTEM,
        '2:40: got 4 KiB, need a number, true or false, or text in quotes: "4 KiB"',
        "2:40: got string values must be quoted, need literal string",
    ),
    "unquoted rate": (
        "[workload]\nsynthetic = { n_requests = 100, rate = 50/s }\n" + SYSTEM,
        '2:40: got 50/s, need a number, true or false, or text in quotes: "50/s"',
        "2:40: got string values must be quoted, need literal string",
    ),
    "single quote missing": (
        LOAD + '[[system]]\ndrive = "exos-x18\n',
        "4:18: got text without its closing quote, need the same quote at its end",
        '4:18: got invalid basic string, need """',
    ),
    "typographic quotes": (
        LOAD + "[[system]]\ndrive = “exos-x18”\n",
        '4:9: got “exos-x18”, need a number, true or false, or text in quotes: "exos-x18"',
        "4:9: got string values must be quoted, need literal string",
    ),
    "colon": (
        '[workload]\nsynthetic: { rate = "50/s" }\n' + SYSTEM,
        '2:12: got "synthetic: { rate = \\"50/s\\" }", need KEY = VALUE, [TABLE] or # with a …',
        '2:12: got key with no value, need "="',
    ),
    "True": (
        LOAD + SYSTEM + "[system.cache]\nenabled = True\n",
        "7:11: got True, need true or false, in small letters",
        '7:11: got invalid boolean, need "true"',
    ),
    "comma missing": (
        '[workload]\nsynthetic = { n_requests = 100 rate = "50/s" }\n' + SYSTEM,
        '2:37: got two entries in braces without a comma between them, need ","',
        '2:37: got extra assignment between key-value pairs, need ","',
    ),
    "bracket missing": (
        '[workload\nsynthetic = { n_requests = 100, size = "4 KiB", rate = "50/s" }\n' + SYSTEM,
        '1:10: got unclosed table, need "]"',
        SAME,
    ),
    "comment //": (
        "// my test\n" + LOAD + SYSTEM,
        '1:4: got "// my test", need KEY = VALUE, [TABLE] or # with a comment',
        '1:4: got key with no value, need "="',
    ),
    "system once [system] twice": (
        LOAD + '[system]\ndrive="exos-x18"\n[system]\ndrive="exos-x18"\n',
        '5:2: got key "system" a second time, need it once; several such tables are [[system]] …',
        "",
    ),
    "key twice": (
        LOAD + SYSTEM + "count = 1\ncount = 2\n",
        '7:1: got key "count" a second time, need it once',
        "7:1: got duplicate key, need valid TOML",
    ),
    "backslash path": (
        '[workload]\ntrace = "C:\\traces\\a.csv"\n' + SYSTEM,
        "2:20: got a backslash in text in double quotes, need two of them, or the text in …",
        '2:20: got missing escaped value, need "b", "e", "f", "n", "r", "\\", """, "x", "u", "U"',
    ),
    "leading zero": (
        LOAD + SYSTEM + "count = 02\n",
        "6:9: got a number that begins with 0, need it without the 0",
        "6:9: got unexpected leading zero, need nothing there",
    ),
    "number with comma": (
        '[workload]\nsynthetic = { n_requests = 1,000, rate = "50/s" }\n' + SYSTEM,
        "2:33: got a comma, need KEY = VALUE after it; long numbers are written 1_000_000",
        '2:33: got extra comma in inline table, need "="',
    ),
    "number with comma at the end": (
        "[workload]\nsynthetic = { n_requests = 1,000 }\n" + SYSTEM,
        '2:34: got "synthetic = { n_requests = 1,000 }", need KEY = VALUE, [TABLE] or # with a …',
        "2:34: got invalid literal string, need …",
    ),
    "null": (
        LOAD + SYSTEM + "dash = null\n",
        "6:8: got null, need a value, or no such line: TOML has no null",
        '6:8: got invalid float, need "nan"',
    ),
    "percent": (
        '[workload]\nsynthetic = { n_requests = 100, rate = "50/s", reads = 60% }\n' + SYSTEM,
        '2:56: got 60%, need a number, true or false, or text in quotes: "60%"',
        "2:56: got string values must be quoted, need literal string",
    ),
    "no workload": (
        SYSTEM,
        "workload: got nothing, need a table [workload] with trace, synthetic or jobs, or …",
        "workload: got nothing, need a value",
    ),
    "no system": (
        LOAD,
        "system: got nothing, need one or several [[system]] with a drive",
        "system: got nothing, need a value",
    ),
    "wokload": (
        '[wokload]\nsynthetic = { n_requests = 100, size = "4 KiB", rate = "50/s" }\n' + SYSTEM,
        'experiment: got key "wokload", need one of workload, … did you mean "workload"?',
        SAME,
    ),
    "workload empty": (
        "[workload]\n" + SYSTEM,
        "workload[0]: got neither trace nor synthetic nor jobs, need one of them",
        SAME,
    ),
    "drive missing": (
        LOAD + '[[system]]\nname = "one"\n',
        "system[0].drive: got nothing, need a value",
        SAME,
    ),
    "workload text": (
        'workload = "a.csv"\n' + SYSTEM,
        'workload: got string "a.csv", need a table [workload] with trace, synthetic or jobs, …',
        'workload: got string "a.csv", need a list',
    ),
    "system text": (
        'system = "exos-x18"\n' + LOAD,
        'system: got string "exos-x18", need one or several [[system]] with a drive',
        'system: got string "exos-x18", need a list',
    ),
    "system list of names": (
        'system = ["exos-x18", "barracuda-es-750"]\n' + LOAD,
        'system[0]: got string "exos-x18", need a table, such as { drive = "exos-x18" }',
        'system[0]: got string "exos-x18", need a table',
    ),
    "workload key misspelt": (
        LOAD + 'warmup = "1 s"\n' + SYSTEM,
        'workload: got key "warmup", need one of name, trace, format, … did you mean "warm_up"?',
        'workload[0]: got key "warmup", need one of name, trace, format, …',
    ),
    "workload key unknown": (
        LOAD + "speed = 3\n" + SYSTEM,
        'workload: got key "speed", need one of name, trace, format, …',
        'workload[0]: got key "speed", need one of name, trace, format, …',
    ),
    "synthetic keys outside": (
        '[workload]\nn_requests = 100\nrate = "50/s"\n' + SYSTEM,
        'workload: got key "n_requests", need it inside synthetic = { n_requests = ... }',
        "workload[0]: got neither trace nor synthetic nor jobs, need one of them",
    ),
    "system key misspelt": (
        LOAD + SYSTEM + 'shceduler = "sptf"\n',
        'system[0]: got key "shceduler", need one of name, drive, … did you mean "scheduler"?',
        SAME,
    ),
    "queue depth spelled": (
        LOAD + SYSTEM + "queue-depth = 32\n",
        'system[0]: got key "queue-depth", need one of name, drive, … did you mean "queue_depth"?',
        SAME,
    ),
    "run key": (
        LOAD + SYSTEM + "[run]\nsede = 3\n",
        'run: got key "sede", need one of seed, threads, duration, … did you mean "seed"?',
        SAME,
    ),
    "cache key": (
        LOAD + SYSTEM + '[system.cache]\nsize = "64 MiB"\n',
        'system[0].drive.cache: got key "size", need one of enabled, segments, …',
        SAME,
    ),
    "bare rate": (
        "[workload]\nsynthetic = { n_requests = 100, rate = 50 }\n" + SYSTEM,
        "workload[0].synthetic.rate: got integer 50, need a rate as text with its unit: one of …",
        SAME,
    ),
    "bare size": (
        '[workload]\nsynthetic = { n_requests = 100, rate = "50/s", size = 4096 }\n' + SYSTEM,
        'workload[0].synthetic.size: got 4096, need one value with its unit, such as "4 KiB" …',
        SAME,
    ),
    "bare size text": (
        '[workload]\nsynthetic = { n_requests = 100, rate = "50/s", size = "4096" }\n' + SYSTEM,
        'workload[0].synthetic.size: got "4096", need a number and a unit: one of B, kB, MB, …',
        SAME,
    ),
    "size unit Kb": (
        '[workload]\nsynthetic = { n_requests = 100, rate = "50/s", size = "4 Kb" }\n' + SYSTEM,
        'workload[0].synthetic.size: got "4 Kb", need a number and a unit: one of B, kB, MB, …',
        SAME,
    ),
    "reads percent": (
        '[workload]\nsynthetic = { n_requests = 100, rate = "50/s", reads = 60 }\n' + SYSTEM,
        "workload[0].synthetic.reads: got 60, need 0 to 1",
        SAME,
    ),
    "reads text": (
        '[workload]\nsynthetic = { n_requests = 100, rate = "50/s", reads = "60%" }\n' + SYSTEM,
        'workload[0].synthetic.reads: got string "60%", need a number',
        SAME,
    ),
    "n_requests text": (
        '[workload]\nsynthetic = { n_requests = "100", rate = "50/s" }\n' + SYSTEM,
        'workload[0].synthetic.n_requests: got string "100", need a whole number, 0 or more',
        SAME,
    ),
    "n_requests float": (
        '[workload]\nsynthetic = { n_requests = 1e6, rate = "50/s" }\n' + SYSTEM,
        "workload[0].synthetic.n_requests: got floating … without point and exponent: 1000000",
        "workload[0].synthetic.n_requests: got floating … need a whole number, 0 or more",
    ),
    "n_requests negative": (
        '[workload]\nsynthetic = { n_requests = -5, rate = "50/s" }\n' + SYSTEM,
        "workload[0].synthetic.n_requests: got integer -5, need a whole number, 0 or more",
        SAME,
    ),
    "n_requests zero": (
        '[workload]\nsynthetic = { n_requests = 0, rate = "50/s" }\n' + SYSTEM,
        'workload[0].synthetic.n_requests: got no request in "synthetic", need at least one …',
        SAME,
    ),
    "requests key": (
        '[workload]\nsynthetic = { rate = "50/s", requests = 100 }\n' + SYSTEM,
        'workload[0].synthetic: got key "requests", need one of … did you mean "n_requests"?',
        SAME,
    ),
    "read_ratio key": (
        '[workload]\nsynthetic = { n_requests = 100, rate = "50/s", read_ratio = 0.6 }\n' + SYSTEM,
        'workload[0].synthetic: got key "read_ratio", need one of … did you mean "reads"?',
        SAME,
    ),
    "arrivals word": (
        '[workload]\nsynthetic = { n_requests = 100, rate = "50/s", arrivals = "possion" }\n'
        + SYSTEM,
        'workload[0].synthetic.arrivals: got "possion", need one of … did you mean "poisson"?',
        SAME,
    ),
    "size list": (
        '[workload]\nsynthetic = { n_requests = 100, rate = "50/s", size = ["4 KiB", "8 KiB"] }\n'
        + SYSTEM,
        'workload[0].synthetic.size: got ["4 KiB","8 KiB"], need one value with its unit, such …',
        SAME,
    ),
    "drive misspelt": (
        LOAD + '[[system]]\ndrive = "exos-18"\n',
        'system[0].drive: got "exos-18", need a path or one of … did you mean "exos-x18"?',
        SAME,
    ),
    "drive model name": (
        LOAD + '[[system]]\ndrive = "Seagate Exos X18"\n',
        'system[0].drive: got "Seagate Exos X18", need a path or one of barracuda-7200.9-2006, …',
        SAME,
    ),
    "drive absent path": (
        LOAD + '[[system]]\ndrive = "drives/mine.toml"\n',
        'system[0].drive: got "drives/mine.toml", no such file (FOLDER/drives/mine.toml), need …',
        'system[0].drive: got "drives/mine.toml", need a path or one of barracuda-7200.9-2006, …',
    ),
    "drive directory": (
        LOAD + '[[system]]\ndrive = "."\n',
        'system[0].drive: got ".", a directory, need a file that describes a drive, or the …',
        'system[0].drive: got ".", need a path or one of barracuda-7200.9-2006, …',
    ),
    "drive list": (
        LOAD + '[[system]]\ndrive = ["exos-x18", "exos-x18"]\n',
        'system[0].drive: got ["exos-x18","exos-x18"], need a name, a path or a table',
        SAME,
    ),
    "drive number": (
        LOAD + "[[system]]\ndrive = 4\n",
        "system[0].drive: got 4, need a name, a path or a table",
        SAME,
    ),
    "drive is experiment": (
        LOAD + '[[system]]\ndrive = "x.toml"\n',
        'system[0].drive: x.toml:3:3: got key "system", need one of name, title, description, …',
        SAME,
    ),
    "scheduler misspelt": (
        LOAD + SYSTEM + 'scheduler = "stpf"\n',
        'system[0].drive.queue.scheduler: got "stpf", need one of fcfs, … did you mean "sptf"?',
        SAME,
    ),
    "scheduler upper": (
        LOAD + SYSTEM + 'scheduler = "SPTF"\n',
        'system[0].drive.queue.scheduler: got "SPTF", need one of fcfs, … did you mean "sptf"?',
        'system[0].drive.queue.scheduler: got "SPTF", need one of fcfs, … depth-aged-sptf',
    ),
    "scheduler noop": (
        LOAD + SYSTEM + 'scheduler = "noop"\n',
        'system[0].drive.queue.scheduler: got "noop", need one of fcfs, sstf, scan, look, …',
        SAME,
    ),
    "scheduler number": (
        LOAD + SYSTEM + "scheduler = 3\n",
        "system[0].scheduler: got integer 3, need text in quotes",
        "system[0].scheduler: got integer 3, need a string",
    ),
    "number of drives": (
        LOAD + SYSTEM + "drives = 64\n",
        "system[0].drives: got 64, need a list of drives that differ; hint: count = 64",
        "system[0].drives: got integer 64, need a list",
    ),
    "endless time": (
        LOAD + SYSTEM + 'change = [{ at = "1e300 s", queue_depth = 3 }]\n',
        'system[0].change[0].at: got "1e300 s", need a length of time below 2^63 ns (292 years)',
        'system[0].change[0].at: got "1e300 s", need a number and a unit: one of s, ms, …',
    ),
    "count zero": (
        LOAD + SYSTEM + "count = 0\n",
        "system[0].count: got 0, need 1 to 100000",
        SAME,
    ),
    "count negative": (
        LOAD + SYSTEM + "count = -2\n",
        "system[0].count: got integer -2, need a whole number, 0 or more",
        SAME,
    ),
    "count text": (
        LOAD + SYSTEM + 'count = "4"\n',
        'system[0].count: got string "4", need a whole number, 0 or more',
        SAME,
    ),
    "count float": (
        LOAD + SYSTEM + "count = 2.5\n",
        "system[0].count: got floating point 2.5, need a whole number, 0 or more",
        SAME,
    ),
    "organisation american": (
        LOAD + SYSTEM + 'organization = "raid0"\n',
        'system[0]: got key "organization", need one of name, … did you mean "organisation"?',
        SAME,
    ),
    "organisation list": (
        LOAD + SYSTEM + 'organisation = ["raid0"]\n',
        'system[0].organisation: got ["raid0"], need a name or a table',
        SAME,
    ),
    "queue depth text": (
        LOAD + SYSTEM + 'queue_depth = "32"\n',
        'system[0].queue_depth: got string "32", need a whole number, 0 or more',
        SAME,
    ),
    "dash wrong": (
        LOAD + SYSTEM + 'dash = "D1A2"\n',
        'system[0].dash: got "D1A2", need "D<stacks>A<arms>S<surfaces>H<heads>" with numbers …',
        SAME,
    ),
    "dash lower": (
        LOAD + SYSTEM + 'dash = "2 arms"\n',
        'system[0].dash: got "2 arms", need "D<stacks>A<arms>S<surfaces>H<heads>" with numbers …',
        SAME,
    ),
    "layers text": (
        LOAD + SYSTEM + 'layers = "raid5"\n',
        'system[0].layers: got string "raid5", need a list',
        SAME,
    ),
    "layer name": (
        LOAD + SYSTEM + 'layers = ["raid6"]\n',
        'system[0].layers[0].name: got "raid6", need one of independent, … did you mean "raid5"?',
        SAME,
    ),
    "layer param": (
        LOAD + SYSTEM + 'count = 3\nlayers = [{ name = "raid5", chunksize = "64 KiB" }]\n',
        'system[0].layers[0]: got key "chunksize", need one of layout, … did you mean "chunk"?',
        SAME,
    ),
    "layer no name": (
        LOAD + SYSTEM + 'count = 3\nlayers = [{ type = "raid5" }]\n',
        "system[0].layers[0].name: got nothing, need a name",
        SAME,
    ),
    "raid5 too few": (
        LOAD + SYSTEM + 'count = 2\nlayers = ["raid5"]\n',
        "system[0].layers[0].below: got 2, need at least 3 members",
        SAME,
    ),
    "spindles": (
        LOAD + SYSTEM + 'spindles = "sync"\n',
        'system[0].spindles: got "sync", need one of free, … did you mean "synchronized"?',
        SAME,
    ),
    "rpm bare": (
        LOAD + SYSTEM + '[system.set]\n"geometry.rotation_speed" = 7200\n',
        "system[0].drive.geometry.rotation_speed: got integer 7200, need a rotation speed as …",
        SAME,
    ),
    "time bare": (
        LOAD + SYSTEM + '[system.set]\n"positioning.head_switch" = 0.8\n',
        "system[0].drive.positioning.head_switch: got floating point 0.8, need a length of …",
        SAME,
    ),
    "time unit": (
        LOAD + SYSTEM + '[system.set]\n"positioning.head_switch" = "0.8 sec"\n',
        'system[0].drive.positioning.head_switch: got "0.8 sec", need a number and a unit: one …',
        SAME,
    ),
    "boolean text": (
        LOAD + SYSTEM + '[system.cache]\nenabled = "true"\n',
        'system[0].drive.cache.enabled: got string "true", need true or false, without quotes',
        'system[0].drive.cache.enabled: got string "true", need a boolean',
    ),
    "change without time": (
        LOAD + SYSTEM + '[[system.change]]\nscheduler = "sptf"\n',
        "system[0].change[0].at: got nothing, need a value",
        SAME,
    ),
    "seed text": (
        LOAD + SYSTEM + '[run]\nseed = "abc"\n',
        'run.seed: got string "abc", need a whole number, 0 or more',
        'headstack run: --seed: got "one", need an integer of at least 0; see headstack run …',
    ),
    "duration bare": (
        LOAD + SYSTEM + "[run]\nduration = 10\n",
        "run.duration: got integer 10, need a length of time as text with its unit: one of s, …",
        SAME,
    ),
    "years negative": (
        LOAD + SYSTEM + "[cost]\nyears = -1\n",
        "cost.years: got -1, need 0 or more",
        SAME,
    ),
    "pue": (
        LOAD + SYSTEM + "[cost]\npue = 0.5\n",
        "cost.pue: got 0.5, need 1 or more",
        SAME,
    ),
    "cap policy": (
        LOAD + SYSTEM + '[capping]\npolicy = "throtle"\ncaps = [{ at = "0 s", cap = "8 W" }]\n',
        'capping.policy: got "throtle", need one of feed-forward, … did you mean "throttle"?',
        SAME,
    ),
    "cap as number": (
        LOAD + SYSTEM + '[capping]\npolicy = "throttle"\ncap = "8 W"\n',
        'capping: got key "cap", need one of policy, parameters, interval, … did you mean "caps"?',
        SAME,
    ),
    "cap file absent": (
        LOAD + SYSTEM + '[capping]\npolicy = "throttle"\ncap_file = "caps.csv"\n',
        'capping.cap_file: got "caps.csv" (no such file), need a file of lines with seconds …',
        "capping.cap_file: got no such file, need a file of TOML",
    ),
    "trace directory": (
        '[workload]\ntrace = "."\n' + SYSTEM,
        "workload[0].trace: .: got a directory, need a file that can be read or written",
        SAME,
    ),
    "trace number": (
        "[workload]\ntrace = 3\n" + SYSTEM,
        "workload.trace: got integer 3, need text in quotes",
        "workload.trace: got integer 3, need a string",
    ),
}

#: Name, bytes and format of a trace that an experiment names.
TRACES = {
    "trace empty": (
        ("a.csv", "", None),
        "a.csv: got an empty file, need a trace in one of alibaba, blkparse, … validate, vscsi",
        "a.csv: got an empty file, need a trace in one of … hint: name the format",
    ),
    "trace header only": (
        ("a.csv", "time_us,lba,blocks,op\n", None),
        'x.toml: workload[0].trace: got no request in "a.csv", need at least one request',
        SAME,
    ),
    "trace binary": (
        ("a.bin", bytes(range(256)), None),
        'a.bin: got a binary file … vscsi; format = "NAME" (--from NAME) says which',
        'a.bin: got "\\0\\u{1}\\u{2}\\u{3}\\u{4}\\u{5}\\u{6}\\u{7}… hint: name the format',
    ),
    "trace picture": (
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", None),
        "a.png: got a binary file of an unknown kind, need a trace in one of alibaba, …",
        'a.png: got "\ufffdPNG\\r\\n\\u{1a}\\n\\0\\0… hint: name the format',
    ),
    "trace text": (
        ("a.txt", "Dear Sir or Madam,\nplease find enclosed\n", None),
        'a.txt: got "Dear Sir or Madam,\\nplease … format = "NAME" (--from NAME) says which',
        'a.txt: got "Dear Sir or Madam,\\nplease … hint: name the format',
    ),
    "trace html": (
        ("a.csv", "<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n", None),
        "a.csv: got a page of HTML, need a trace in one of alibaba, blkparse, blktrace, csv, …",
        'a.csv: got "<!DOCTYPE html>\\n<html><body>404 Not Foun…", need a trace in one of …',
    ),
    "trace semicolons": (
        ("a.csv", "time_us;lba;blocks;op\n1;2;8;R\n", None),
        "a.csv:1: got columns separated by semicolons, need commas, as in time_us,lba,blocks,op",
        'a.csv: got "time_us;lba;blocks;op\\n1;2;8;R\\n", need a trace in one of alibaba, …',
    ),
    "trace other header": (
        ("a.csv", "timestamp,sector,length,type\n1,2,8,R\n", None),
        "a.csv:1: got columns timestamp, sector, length, type, need those of a csv trace, as …",
        'a.csv: got "timestamp,sector,length,type\\n1,2,8,R\\n", need a trace in one of alibaba, …',
    ),
    "trace upper header": (
        ("a.csv", "Time_us,LBA,Blocks,Op\n1,2,8,R\n", None),
        "a.csv:1: got columns Time_us, LBA, Blocks, Op, need names in small letters, as in …",
        'a.csv: got "Time_us,LBA,Blocks,Op\\n1,2,8,R\\n", need a trace in one of alibaba, …',
    ),
    "trace no header": (
        ("a.csv", "1,2,8,R\n2,3,8,W\n", None),
        'a.csv:1: got "1,2,8,R", need a first line with the names of the columns, as in …',
        'a.csv: got "1,2,8,R\\n2,3,8,W\\n", need a trace in one of alibaba, blkparse, blktrace, …',
    ),
    "trace dos": (
        ("a.csv", "time_us,lba,blocks,op\r\n1,2,8,R\r\n2,x,8,R\r\n", None),
        'a.csv:3: column 2 "lba": got "x", need an integer that is not negative',
        SAME,
    ),
    "trace negative": (
        ("a.csv", "time_us,lba,blocks,op\n1,-2,8,R\n", None),
        'a.csv:2: column 2 "lba": got "-2", need an integer that is not negative',
        SAME,
    ),
    "trace op word": (
        ("a.csv", "time_us,lba,blocks,op\n1,2,8,lesen\n", None),
        'a.csv:2: column 4 "op": got "lesen", need one of R, W, F, read, write, write-through, …',
        SAME,
    ),
    "trace unsorted": (
        ("a.csv", "time_us,lba,blocks,op\n5,2,8,R\n1,2,8,R\n", None),
        "a.csv:3: got time 1000 ns after 5000 ns, need times that do not decrease; hint: order …",
        SAME,
    ),
    "trace truncated line": (
        ("a.csv", "time_us,lba,blocks,op\n5,2,8,R\n6,2\n", None),
        "a.csv:3: got 2 columns, need 4 columns: as in the header",
        SAME,
    ),
    "trace corrupt gz": (
        ("a.csv.gz", b"\x1f\x8b\x08\x00not gzip", None),
        "x.toml: workload[0].trace: a.csv.gz: got an end in the middle (incomplete deflate …",
        SAME,
    ),
    "trace format misspelt": (
        ("a.csv", CSV, "cvs"),
        'x.toml: workload[0].format: got "cvs", need one of alibaba, blkparse, blktrace, csv, …',
        SAME,
    ),
    "trace format wrong": (
        ("a.csv", CSV, "msr"),
        "a.csv:1: got 4 columns, need 7 columns: …",
        SAME,
    ),
}
