/* Between the sources of emit/kernels/. */
#ifndef MING_EMIT_KERNELS_INTERNAL_H
#define MING_EMIT_KERNELS_INTERNAL_H

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/emit.h"
#include "emit/kernels/kernels.h"
#include "ir/core/core.h"
#include "sim/design/design.h"

#define KERNELS_ADAPTER_HEADER "ming_adapter.h"

/* A kernel of the system and its project. */
typedef struct KernelFiles {
    const Op *kernel, *func;
    SysPlace place;
    EmittedProject project; /* its names */
    bool has_memory;
    const Op *copy;          /* sys.link that the host copies, from or to memory here; or NULL */
    const Type *copy_memory; /* which is an array of that type, of a frame */
} KernelFiles;

/* The two ends of a stream between kernels. */
typedef struct KernelEnds {
    uint32_t from, to;           /* kernels */
    uint32_t from_port, to_port; /* their arguments */
} KernelEnds;

/* A stream between cards, with what is at its ends; [0]: the writer's. */
typedef struct KernelLink {
    const Op *op;
    KernelEnds ends;
    SysPlace places[2]; /* of the kernels */
    int64_t ports[2];
    uint32_t socket; /* at both of the ports */
    int64_t words, depth, latency, packet, pace;
    bool is_credit;
} KernelLink;

/* Kernels that are functions of ming_adapter.h. */
typedef enum AdapterKind {
    ADAPTER_UDP_SEND,
    ADAPTER_UDP_RECEIVE,
    ADAPTER_SEND,
    ADAPTER_RECEIVE,
    ADAPTER_COUNT,
    ADAPTER_ANSWER,
    ADAPTER_MERGE,
    ADAPTER_SPLIT,
    ADAPTER_KINDS
} AdapterKind;

/* Arguments behind those of the branches of `merge` and `split`. Types: words, beats, reports, counts of
 * taken words; registers for the host (s). */
typedef struct AdapterDef {
    const char *suffix, *function;
    struct {
        const char *name;
        char type;
    } args[4];
} AdapterDef;

typedef struct KernelAdapter {
    StrBuf name;
    AdapterKind kind;
    SysPlace place;
    uint32_t link; /* whose end it is; or */
    int64_t port;  /* of the card, at which it is */
} KernelAdapter;

/* A port that links use. */
typedef struct KernelNetPort {
    int64_t card, port, die;
} KernelNetPort;

/* What v++ joins by a stream on a card. from, to: names of kernels; NULL: the UDP core of a port. */
typedef struct KernelJoint {
    const char *from, *from_arg, *to, *to_arg;
    char type; /* as an adapter's argument */
    uint32_t link;
    int64_t card, port, depth; /* port: of the UDP core */
} KernelJoint;

/* A port of loaded weights of the system, and the kernel that sends what comes there. */
typedef struct KernelWeights {
    StrBuf name;               /* of that kernel */
    uint32_t port;             /* argument of the system */
    uint32_t kernel, argument; /* what it sends to */
    SysPlace place;
} KernelWeights;

typedef struct KernelSet {
    Op *module;
    const Op *system;
    const EmitOptions *options;
    const EmittedProject *whole; /* of the design */
    const HlsDesign *design;     /* of the module */
    VEC(KernelFiles) kernels;
    int64_t instances; /* of the system on each card, if cards have one each; else 1 */
    int64_t tile;      /* instances of which the system consists */
    bool is_dp;
    VEC(KernelLink) links;
    VEC(KernelAdapter) adapters;
    VEC(KernelNetPort) ports;
    VEC(KernelJoint) joints;
    VEC(KernelWeights) weights;
    char prefix[8]; /* of adapters' names */
} KernelSet;

/* C++ names of a kernel and of its argument. */
const char *kernels_name(const KernelFiles *kernel);
const char *kernels_port(const KernelFiles *kernel, uint32_t arg);
/* The instance of a tile that a kernel belongs to, from 0. */
int64_t kernels_instance(const KernelFiles *kernel);
/* Whether a sys.link is a copy by the host; copies of a system, counted in their order; and bytes of a frame
 * of one in memory. */
bool kernels_is_copy(const Op *op);
bool kernels_has_copies(const KernelSet *set);
uint32_t kernels_copy_number(const KernelSet *set, const Op *copy);
/* One of the two kernels at a copy. */
const KernelFiles *kernels_at_copy(const KernelSet *set, const Op *copy);
int64_t kernels_copy_bytes(const KernelFiles *kernel);
/* Whether the whole design has memory ports, so that it takes a number of frames. */
bool kernels_has_memory_ports(const KernelSet *set);
/* Whether a kernel writes a port of the whole design, which is an argument of the system. */
bool kernels_is_output(const Value *port);
/* Ends of a stream of the system. */
KernelEnds kernels_ends(const KernelSet *set, const Value *stream);
/* The name of a card or of a die; the second is "SLRn" where the design does not know it. */
Str kernels_card(const KernelSet *set, int64_t card);
/* A dictionary of SYS_DIE keys, or NULL. */
const Attr *kernels_die(const KernelSet *set, SysPlace place);
void kernels_print_die(const KernelSet *set, SysPlace place, StrBuf *out);
/* The bank of a die's memory as link.cfg may have it; empty: none is known. */
Str kernels_bank(const KernelSet *set, SysPlace place);
int64_t kernels_card_count(const KernelSet *set);

/* Links and adapters of the system, which the set keeps until they are freed. */
void kernels_find_links(KernelSet *set);
void kernels_free_links(KernelSet *set);
const AdapterDef *kernels_adapter_def(const KernelAdapter *adapter);
/* How many streams of beats leave a port, or come to it. */
uint32_t kernels_port_users(const KernelSet *set, int64_t card, int64_t port, bool leaves);
/* Branches of `merge` and `split`. */
uint32_t kernels_branches(const KernelSet *set, const KernelAdapter *adapter);
/* The C++ type of what goes through a stream of that type of arguments. */
void kernels_print_item(const KernelLink *link, char type, StrBuf *out);
void kernels_print_adapter_prototype(const KernelSet *set, const KernelAdapter *adapter,
                                     StrBuf *out);

/* Weights, which the set keeps likewise; those that come at a value of the system, or NULL. */
void kernels_find_weights(KernelSet *set);
void kernels_free_weights(KernelSet *set);
const KernelWeights *kernels_weights_at(const KernelSet *set, const Value *value);
int64_t kernels_weights_words(const KernelSet *set, const KernelWeights *w);
/* The C++ of what sends them; its prototype, what it has of link.cfg and system.json, and its call in
 * TOP_system.cpp, from port i into the stream sent<i>. */
void kernels_print_loader(const KernelSet *set, const KernelWeights *w, StrBuf *out);
void kernels_print_loader_prototype(const KernelSet *set, const KernelWeights *w, StrBuf *out);
void kernels_print_loader_units(const KernelSet *set, int64_t card, StrBuf *out);
void kernels_print_loader_streams(const KernelSet *set, int64_t card, StrBuf *out);
void kernels_print_weights_json(const KernelSet *set, JsonWriter *w);
void kernels_print_loading(const KernelSet *set, StrBuf *out);

/* Files. */
void kernels_print_adapter(const KernelSet *set, const KernelAdapter *adapter, StrBuf *out);
/* Of TOP_network.cpp: what stands before the function; the stream at a kernel's argument. */
void kernels_print_network(const KernelSet *set, StrBuf *out);
size_t kernels_joint_at(const KernelSet *set, const char *kernel, const char *arg);
/* TOP_system.cpp, or with adapters and a network between cards TOP_network.cpp. */
void kernels_print_system(const KernelSet *set, bool has_network, StrBuf *out);
/* Of a kernel, an adapter or a loader. others: lines of the files that it needs besides. */
void kernels_print_config(const KernelSet *set, const char *name, const char *others, StrBuf *out);
void kernels_print_link(const KernelSet *set, int64_t card, StrBuf *out); /* link.cfg */
void kernels_print_make(const KernelSet *set, StrBuf *out);               /* system.mk */
void kernels_print_json(const KernelSet *set, StrBuf *out);               /* system.json */
void kernels_print_design(const KernelSet *set, StrBuf *out);             /* board/design.h */

#endif
