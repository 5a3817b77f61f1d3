/* Files that describe hardware: device descriptions (XML), synthesis reports of Vitis HLS (XML) and
 * folding files (JSON). All three come from outside and are trusted in nothing: sizes are limited,
 * XML is read without network, external entities or document types, and every error is diagnosed
 * with the file and, where it is known, the line.
 * target/dse (folding files), the driver and the tools build on it. docs/devices.md.
 * Tests: test/unit/target/device, lit/tools/device*.mir */
#ifndef MING_TARGET_DEVICE_DEVICE_H
#define MING_TARGET_DEVICE_DEVICE_H

#include <jansson.h>

#include "ir/attr/attr.h"

/* The device that passes and build files take when nobody names one: the Kria KV260, and the part
 * that target/devices/kv260.xml has for it. Here because a device decides the part; everything that
 * needs them is above this module. The clock's default is beside Clock in schedule.h. */
#define DEVICE_DEFAULT "kv260"
#define DEVICE_DEFAULT_PART "xck26-sfvc784-2LV-c"

/* Device descriptions: XML files that give a part, the resources of each of its dies, and how much
 * of them a design should take. They are checked against the schema beside them
 * (target/devices/device.xsd); a file above 1 MiB is refused.
 * Tests: test/unit/target/device/device_test.c, lit/tools/device*.mir */

enum {
    DEVICE_MAX_DIES = 8,
    DEVICE_MAX_MEMORIES = 4,
    DEVICE_MAX_SHELLS = 8,
    DEVICE_MAX_BANKS = 16,
    DEVICE_MAX_PORTS = 8,
    DEVICE_DEFAULT_REGISTERS = 4,
    DEVICE_BANK_EFFICIENCY =
        85 /* percent of a bank's rate that long bursts reach, as F2N2 has it */
};

/* Counts, or percentages of them. */
typedef struct Resources {
    int64_t lut, ff, bram18, uram, dsp;
} Resources;

/* Resources under a name: a die, or a controller of the shell. */
typedef struct NamedResources {
    Str name;
    Resources resources;
} NamedResources;

typedef struct DeviceMemory {
    Str kind, shapes;  /* shapes: depth x width in bits, separated by blanks */
    bool has_contents; /* may be initialized by the bitstream */
} DeviceMemory;

/* One of the dies of a device. */
typedef struct DeviceDie {
    Str name;
    Resources resources;
    Str memory;        /* names of shells that may be on it, separated by single blanks */
    uint32_t ethernet; /* a bit per port whose transceivers it has */
} DeviceDie;

/* Banks NAME[first] to NAME[first + count - 1] of external memory. */
typedef struct DeviceBanks {
    Str name;
    int64_t first, count;
    int64_t mbytes, mbps, port_bits; /* of each: size, MB/s, width of its port */
    uint32_t die;
} DeviceBanks;

/* A device. Its texts live in the context, so it needs no freeing. */
typedef struct Device {
    Str name, title, part, dsp_kind;
    int64_t clock_default, clock_maximum; /* MHz */
    int64_t delay_percent;                /* of its speed grade's delays; UltraScale+ -2: 100 */
    Resources total;                      /* of all dies */
    DeviceDie dies[DEVICE_MAX_DIES];      /* neighbours in order */
    uint32_t die_count;
    int64_t sll, ethernet; /* wires between neighbouring dies; Gb/s between cards */
    int64_t registers;     /* that a stream goes through at the border of two dies */
    int64_t wires[DEVICE_MAX_DIES][DEVICE_MAX_DIES]; /* between two dies: as sll, or other ones */
    DeviceBanks banks[DEVICE_MAX_BANKS];
    uint32_t bank_count;
    DeviceMemory memories[DEVICE_MAX_MEMORIES];
    uint32_t memory_count;
    NamedResources shells[DEVICE_MAX_SHELLS];
    uint32_t shell_count;
    Resources percent;    /* recommended utilization */
    int64_t mean_percent; /* of BRAM, URAM and DSP together */
} Device;

/* Reads a device description. schema: path of device.xsd. False: diagnosed, naming the file and the
 * line. */
bool device_read(Context *ctx, const char *path, const char *schema, Device *out) MUST_CHECK;

/* The resources that a design may take: `percent` (1 to 100) of the device's, rounded down; 0: the
 * recommended shares. */
Resources device_budget(const Device *device, int64_t percent);

/* System files: several cards and the Ethernet links between them (target/devices/system.xsd). A
 * file above 1 MiB is refused, as are more than 16 cards, links to cards or ports that are not there,
 * two links at a port, and cards that are not connected by one path each.
 * Tests: test/unit/target/device/system_test.c, lit/tools/devices-system.test */

enum {
    SYSTEM_MAX_CARDS = 16,
    SYSTEM_PCIE_GBYTES = 12, /* of hosts that nobody describes, and below */
    SYSTEM_TRANSFER_US = 30
};

typedef enum LinkProtocol {
    LINK_EITHER, /* udp, where nothing is lost without back-pressure, else credit */
    LINK_UDP,
    LINK_CREDIT
} LinkProtocol;

typedef struct SystemCard {
    Str name, device_name; /* the second: what --device takes */
    int64_t clock;         /* MHz; 0: the device's default */
    Device device;
} SystemCard;

/* In both directions. */
typedef struct SystemLink {
    uint32_t from, to;           /* cards */
    uint32_t from_port, to_port; /* of their Ethernet ports */
    int64_t gbps;                /* in each direction */
    int64_t latency_ns;
    int64_t payload, overhead; /* bytes of a packet */
    LinkProtocol protocol;
    const Attr *loc;
} SystemLink;

/* Its texts live in the context, so it needs no freeing. */
typedef struct System {
    Str name;
    SystemCard cards[SYSTEM_MAX_CARDS];
    uint32_t card_count;
    SystemLink links[SYSTEM_MAX_CARDS]; /* a tree: one less than cards; or none */
    uint32_t link_count;
    int64_t pcie_gbytes, transfer_us; /* of the host: GB/s, and what each transfer adds */
    bool has_host;                    /* it is described, so that cards need no links */
} System;

/* Reads a system file, but not the devices that its cards name. schema: path of system.xsd. False:
 * diagnosed, naming the file and the line. */
bool system_read(Context *ctx, const char *path, const char *schema, System *out) MUST_CHECK;
/* Sets the clocks that are not given, and checks clocks and links against the devices of the
 * cards, which the caller has read. loc: of what the links have no line for. False: diagnosed. */
bool system_check(Context *ctx, System *system, const Attr *loc) MUST_CHECK;
/* A chain of equal cards c0, c1, ... with the links that a system file has by default: at the first
 * Ethernet port of a card the one before, at the second the one behind. count: 1 to
 * SYSTEM_MAX_CARDS. system_check says whether there are so many ports. */
void system_chain(Context *ctx, const Device *device, uint32_t count, System *out);
/* Whether the device has that Ethernet port on some die. */
bool device_has_port(const Device *device, uint32_t port);
/* "either", "udp" or "credit", as in system files. */
Str system_protocol_name(LinkProtocol protocol);

/* Synthesis reports of Vitis HLS (csynth.xml): what the vendor's tool estimates for each function.
 * Tests: test/unit/target/device/csynth_test.c, lit/tools/ming-report.test */

/* Figures of a function, or of the whole design; -1 where the report has none. Latency and interval
 * are worst cases in cycles. */
typedef struct SynthFigures {
    int64_t latency, interval, dsp, bram18, uram, lut, ff;
} SynthFigures;

typedef struct SynthModule {
    Str name;
    SynthFigures figures;
} SynthModule;

/* A report. Its texts live in the context; csynth_free frees the list of modules. */
typedef struct SynthReport {
    Str version, part, top;
    Str target_ns, estimated_ns; /* clock periods as they stand in the report */
    SynthFigures total;
    VEC(SynthModule) modules; /* in the report's order */
} SynthReport;

/* Reads a report. False: diagnosed, naming the file. The caller frees the report either way. */
bool csynth_read(Context *ctx, const char *path, SynthReport *out) MUST_CHECK;
/* Reads what Yosys's `stat -json` counted behind synth_xilinx, as a report of which only version,
 * total and modules are given, and no cycles. False: diagnosed, naming the file. The caller frees
 * the report either way. Tests: lit/tools/ming-report-yosys.test */
bool yosys_read(Context *ctx, const char *path, SynthReport *out) MUST_CHECK;
/* The module of that name, which belongs to the report, or NULL. */
const SynthModule *csynth_module(const SynthReport *report, Str name);
void csynth_free(SynthReport *report);

/* JSON files with the location of every key and value, for diagnostics. jansson reads and checks
 * the text, but gives locations of syntax errors only; lines and columns of values come from a
 * second scan of the text that it accepted, in step with its tree.
 * Tests: test/unit/target/device/json_file_test.c, lit/target/dse/folding-invalid.test */

typedef struct JsonFile {
    Context *ctx;
    const Ident *path;
    StrBuf text; /* registered with the context, so that diagnostics show lines of it */
    json_t *root;
    PtrMap places; /* key's text or value -> location */
} JsonFile;

/* Reads a file. what: "folding file" or the like, for diagnostics. False: diagnosed (no regular
 * file, longer than max_bytes, no JSON, a key twice in one object). The caller frees a file that
 * was read, after diag_flush, because diagnostics show lines of its text. */
bool json_file_read(Context *ctx, Str path, const char *what, int64_t max_bytes, JsonFile *out)
    MUST_CHECK;
void json_file_free(JsonFile *file);

/* The location of a key, by the pointer that json_object_foreach gives, or of a value. jansson has
 * one object for each of true, false and null, so these get the location of `holder`, the key or
 * list that holds them, or of the file where that is NULL. */
const Attr *json_file_place(const JsonFile *file, const void *item, const void *holder);

#endif
