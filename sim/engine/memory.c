/* Memories on the chip. Every word knows which command wrote and read it last, and until when, so
 * that commands that overlap in time are found where they touch the same word, whatever the pattern
 * of their addresses. */
#include <stdlib.h>

#include "sim/engine/internal.h"

void engine_memory_create(Memory *memory, const char *name, uint64_t words, uint32_t lanes,
                          uint32_t page_words)
{
    size_t count = (size_t)(words * lanes);
    *memory = (Memory){.name = name, .words = words, .lanes = lanes, .page_words = page_words};
    memory->data = xmalloc(count * sizeof *memory->data);
    memory->uses = xcalloc((size_t)words, sizeof *memory->uses);
    if (page_words > 0) memory->pages = xcalloc((size_t)words / page_words, sizeof *memory->pages);
    for (size_t i = 0; i < count; i++) memory->data[i] = MEMORY_EMPTY;
}

void engine_memory_free(Memory *memory)
{
    free(memory->data);
    free(memory->uses);
    free(memory->pages);
    *memory = (Memory){0};
}

static bool check_word(const Memory *memory, const Command *cmd, uint64_t word, const char *verb)
{
    return word < memory->words ||
           op_error(cmd->op, "%s word %llu of the %s, which has %llu", verb,
                    (unsigned long long)word, memory->name, (unsigned long long)memory->words);
}

/* A port belongs to one command, and to one operand of it. */
static uint32_t owner(const Command *cmd, uint32_t port)
{
    return cmd->number * 2 + port;
}

/* The other instruction that a message is about. False. */
static bool note_other(const Memory *memory, const Command *cmd, uint32_t number)
{
    const Op *other = memory->instructions[number - 1];
    return diag_note(cmd->op->ctx, other->loc, "the other instruction");
}

static bool report_port(const Memory *memory, const Command *cmd, uint64_t word, uint32_t other,
                        const char *verb)
{
    unsigned long long page = word / memory->page_words;
    if (other == cmd->number)
        return op_error(cmd->op,
                        "reads both operands from page %llu of the %s, which has one port "
                        "to read",
                        page, memory->name);
    op_error(cmd->op, "%s page %llu of the %s while another instruction does", verb, page,
             memory->name);
    return note_other(memory, cmd, other);
}

static bool take_read_port(const Memory *memory, const Command *cmd, uint64_t word, uint32_t port)
{
    WordUse *page = &memory->pages[word / memory->page_words];
    if (page->read_end > cmd->start && page->reader != owner(cmd, port))
        return report_port(memory, cmd, word, page->reader / 2, "reads");
    page->reader = owner(cmd, port);
    page->read_end = cmd->end;
    return true;
}

static bool take_write_port(const Memory *memory, const Command *cmd, uint64_t word)
{
    WordUse *page = &memory->pages[word / memory->page_words];
    if (page->write_end > cmd->start && page->writer != cmd->number)
        return report_port(memory, cmd, word, page->writer, "writes");
    page->writer = cmd->number;
    page->write_end = cmd->end;
    return true;
}

const int64_t *engine_memory_read(const Memory *memory, const Command *cmd, uint64_t word,
                                  uint32_t port)
{
    if (!check_word(memory, cmd, word, "reads")) return NULL;
    WordUse *use = &memory->uses[word];
    if (use->write_end > cmd->start) {
        op_error(cmd->op, "reads word %llu of the %s while another instruction writes it",
                 (unsigned long long)word, memory->name);
        note_other(memory, cmd, use->writer);
        return NULL;
    }
    if (!use->writer) {
        op_error(cmd->op, "reads word %llu of the %s, which nothing has written",
                 (unsigned long long)word, memory->name);
        return NULL;
    }
    if (memory->page_words > 0 && !take_read_port(memory, cmd, word, port)) return NULL;
    if (use->read_end < cmd->end) {
        use->read_end = cmd->end;
        use->reader = cmd->number;
    }
    return &memory->data[word * memory->lanes];
}

int64_t *engine_memory_update(const Memory *memory, const Command *cmd, uint64_t word)
{
    if (!check_word(memory, cmd, word, "writes")) return NULL;
    if (memory->page_words > 0 && !take_read_port(memory, cmd, word, 1)) return NULL;
    return engine_memory_write(memory, cmd, word);
}

int64_t *engine_memory_write(const Memory *memory, const Command *cmd, uint64_t word)
{
    if (!check_word(memory, cmd, word, "writes")) return NULL;
    WordUse *use = &memory->uses[word];
    bool is_read = use->read_end > cmd->start;
    uint32_t other = is_read ? use->reader : use->writer;
    if ((is_read || use->write_end > cmd->start) && other != cmd->number) {
        op_error(cmd->op, "writes word %llu of the %s while another instruction %s it",
                 (unsigned long long)word, memory->name, is_read ? "reads" : "writes");
        note_other(memory, cmd, other);
        return NULL;
    }
    if (memory->page_words > 0 && !take_write_port(memory, cmd, word)) return NULL;
    use->writer = cmd->number;
    use->write_end = cmd->end;
    return &memory->data[word * memory->lanes];
}
