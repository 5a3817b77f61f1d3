/* The engine's types, commands and processes. Its size is in engine_config.h, its instructions are in
 * engine_isa.h; both are generated, and the rest is the same for every size.
 *
 *   commands   fetch ─▶ load_a, load_w, fill, compute, store
 *   maps       load_a ─▶ activations ─▶ array ─▶ alu ─▶ activations ─▶ store
 *                 compute ─┘   └─▶ operands ──────┘
 *   weights    load_w ─▶ buffer ─▶ fill ─▶ memories of the array
 *   others     load_w ─▶ parameters ─▶ alu;  fetch ─▶ programs ─▶ alu
 *
 * A unit runs its commands in order, and beside the other units. What must not overlap is kept apart
 * by semaphores, which are a process of their own. Memories between two units have one port to write
 * and one to read. The activations, which everybody wants, are a process that serves requests. */
#ifndef ENGINE_H
#define ENGINE_H

#include <ap_int.h>
#include <hls_stream.h>

#include "engine_config.h"
#include "engine_isa.h"

/* A process of the dataflow region is a call. C simulation, whose ming_fibres.h comes first, runs
 * them beside each other instead. */
#ifndef PROCESS
#define PROCESS(FUNCTION, ...) FUNCTION(__VA_ARGS__)
#define RUN_PROCESSES()
#define WAIT_FOR_OTHERS()
#endif

/* A memory of the engine. C simulation may run several engines, each in a thread. */
#ifndef ENGINE_MEMORY
#define ENGINE_MEMORY(TYPE, NAME, EXTENTS) static TYPE NAME EXTENTS
#endif

/* A word of a memory, or what moves at once. */
template <class T, int N> struct Lanes {
    T lane[N];
};

typedef ap_uint<32> word_t; /* an instruction */
/* Elements are numbers of two's complement, or none below 0; weights of one plane are the bits of -1
 * and 1. */
template <bool IS_UNSIGNED, int BITS> struct Element {
    typedef ap_int<BITS> type;
};
template <int BITS> struct Element<true, BITS> {
    typedef ap_uint<BITS> type;
};
typedef Element<ACT_IS_UNSIGNED, ACT_BITS>::type act_t;
typedef Element<WEIGHT_BITS == 1, WEIGHT_BITS>::type weight_t;
typedef ap_int<ACC_BITS> acc_t;
typedef ap_int<PARAM_BITS> param_t;
typedef ap_uint<BEAT_BITS> beat_t; /* of external memory */
typedef ap_uint<40> place_t;       /* of a word, before it is known to be in a memory */

typedef Lanes<act_t, COLS> Word;      /* of the activations */
typedef Lanes<weight_t, ROWS> Column; /* of the array: a weight for each row */
typedef Lanes<acc_t, ROWS> Vector;    /* of sums, or a register of the processing unit */
typedef Lanes<param_t, ROWS> Parameters;

/* A command with its copy of the registers. */
struct Command {
    isa::Opcode opcode;
    word_t word;
    isa::Registers regs;
    ap_uint<28> address[4]; /* of the buffers, in beats */
};

/* To the semaphores: a unit waits, signals, or is at its end. */
enum TokenKind { TOKEN_WAIT, TOKEN_SIGNAL, TOKEN_END };
struct Token {
    TokenKind kind;
    ap_uint<4> semaphore;
};

enum Unit { UNIT_LOAD_A, UNIT_LOAD_W, UNIT_FILL, UNIT_COMPUTE, UNIT_STORE, UNITS };

/* To the activations. A flush is answered when all that was written before is there. */
struct ReadRequest {
    ap_uint<10> page;
    ap_uint<12> word;
    bool is_end;
};
struct WriteRequest {
    ap_uint<10> page;
    ap_uint<12> word;
    ap_uint<COLS> enable; /* a bit for each lane that is written */
    Word data;
    bool is_greater; /* only lanes that are greater than what is there */
    bool is_flush, is_end;
};
enum Reader { READ_TAPS, READ_OPERANDS, READ_STORE, READERS };
enum Writer { WRITE_LOAD, WRITE_RESULTS, WRITERS };

/* Ports of the weights: beat i is beat i / WEIGHT_PORTS of port i % WEIGHT_PORTS. */
#if WEIGHT_PORTS == 4
#define WEIGHTS weights, weights_1, weights_2, weights_3
#define WEIGHT_PARAMETERS                                                                                    \
    const beat_t *weights, const beat_t *weights_1, const beat_t *weights_2, const beat_t *weights_3
#elif WEIGHT_PORTS == 2
#define WEIGHTS weights, weights_1
#define WEIGHT_PARAMETERS const beat_t *weights, const beat_t *weights_1
#else
#define WEIGHTS weights
#define WEIGHT_PARAMETERS const beat_t *weights
#endif

/* What the array takes in: a word, or padding. */
struct Tap {
    bool is_inside;
    ap_uint<16> weights; /* place of its weights behind w_base */
};

typedef hls::stream<Command, QUEUE> CommandStream; /* as long in C simulation, too */
typedef hls::stream<Token> TokenStream;
typedef hls::stream<bool> DoneStream;

void fetch(const word_t *program, ap_uint<32> count, CommandStream to[UNITS], word_t pu_program[PU_WORDS],
           hls::stream<ap_uint<32>> &fault);
void semaphores(TokenStream from[UNITS], DoneStream grants[UNITS], hls::stream<ap_uint<32>> &left);
void activations(hls::stream<ReadRequest> reads[READERS], hls::stream<Word> words[READERS],
                 hls::stream<WriteRequest> writes[WRITERS], DoneStream flushed[WRITERS]);
void load_a(CommandStream &commands, TokenStream &tokens, DoneStream &grants, const beat_t *maps,
            hls::stream<WriteRequest> &writes, DoneStream &flushed);
void load_w(CommandStream &commands, TokenStream &tokens, DoneStream &grants, WEIGHT_PARAMETERS,
            const beat_t *parameters, Column buffer[2][W_WORDS], param_t vectors[PARAM_WORDS][ROWS]);
void fill(CommandStream &commands, TokenStream &tokens, DoneStream &grants, const Column buffer[2][W_WORDS],
          Column pe[2][PE_WORDS][COLS]);
void compute(CommandStream &commands, TokenStream &tokens, DoneStream &grants, CommandStream &to_array,
             CommandStream &to_alu, hls::stream<Tap> &taps, hls::stream<ReadRequest> &reads,
             DoneStream &array_done, DoneStream &alu_done);
void array(CommandStream &commands, hls::stream<Tap> &taps, hls::stream<Word> &words,
           const Column pe[2][PE_WORDS][COLS], hls::stream<Vector> &sums, DoneStream &done);
void alu(CommandStream &commands, hls::stream<Vector> &sums, const word_t pu_program[PU_WORDS],
         const param_t vectors[PARAM_WORDS][ROWS], CommandStream &to_operands, hls::stream<Vector> &operands,
         hls::stream<WriteRequest> &writes, DoneStream &flushed, DoneStream &done);
void operands(CommandStream &commands, hls::stream<ReadRequest> &reads, hls::stream<Word> &words,
              hls::stream<Vector> &vectors);
void store(CommandStream &commands, TokenStream &tokens, DoneStream &grants, beat_t *maps,
           hls::stream<ReadRequest> &reads, hls::stream<Word> &words);

/* What the engine says about a program: 0, or why it ended. */
enum Fault {
    FAULT_NONE,
    FAULT_INSTRUCTION, /* a word is no instruction */
    FAULT_REGISTER,    /* sa.set names a register that there is not */
    FAULT_BANK,        /* a command names another bank than its port's */
    FAULT_PU,          /* more instructions than the processing unit holds */
    FAULT_NO_END,
    FAULT_SEMAPHORE, /* one is not 0 at the end */
};
/* The fault, and the instruction from 1 on, or the semaphore. */
inline ap_uint<32> fault_at(Fault fault, ap_uint<28> where) { return (ap_uint<32>(fault) << 28) | where; }

void engine(const word_t *program, ap_uint<32> count, const beat_t *maps_in, beat_t *maps_out,
            WEIGHT_PARAMETERS, const beat_t *parameters, ap_uint<32> *status);

/* In front of a command and behind it. */
inline void begin(const Command &c, TokenStream &tokens, DoneStream &grants)
{
    if (!isa::nop::has_wait(c.word))
        return;
    tokens.write(Token{TOKEN_WAIT, isa::nop::wait(c.word)});
    grants.read();
}

inline void finish(const Command &c, TokenStream &tokens)
{
    if (isa::nop::has_signal(c.word))
        tokens.write(Token{TOKEN_SIGNAL, isa::nop::signal(c.word)});
}

/* Bits that an element takes in external memory. */
constexpr int stored_bits(int bits) { return bits == 3 ? 4 : bits; }

/* Where a pixel begins. */
inline place_t word_at(ap_uint<16> page, ap_uint<16> base) { return place_t(page) * PAGE_WORDS + base; }

inline ReadRequest read_at(place_t word)
{
    return ReadRequest{ap_uint<10>(word / PAGE_WORDS), ap_uint<12>(word % PAGE_WORDS), false};
}

#endif
