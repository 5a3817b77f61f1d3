/* Checks of protobuf bytes before libprotobuf-c unpacks them, because its reader recurses once per
 * nested message without a limit and cannot say what is wrong with a damaged file. Texts hold no zeros.
 * Tests: test/unit/import/import_test.c, fuzz/fuzz_onnx.c */
#include <string.h>

#include "import/internal.h"

enum { MAX_NESTING = 64 };

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

typedef struct Wire {
    const uint8_t *data;
    size_t at;
    StrBuf *why;
} Wire;

static bool wire_error(Wire *wire, const char *what)
{
    strbuf_printf(wire->why, "%s at byte %zu", what, wire->at);
    return false;
}

static bool read_varint(Wire *wire, size_t end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (wire->at == end) return wire_error(wire, "truncated");
        uint8_t byte = wire->data[wire->at++];
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return wire_error(wire, "malformed number");
}

static bool skip(Wire *wire, size_t end, uint64_t size)
{
    if (size > end - wire->at) return wire_error(wire, "truncated");
    wire->at += (size_t)size;
    return true;
}

static bool check_message(Wire *wire, const ProtobufCMessageDescriptor *message, size_t end,
                          int depth);

/* A value of so many bytes: a message, or a text. Texts with zeros would be cut there by who reads them
 * as C strings, so that other names become equal. */
static bool check_bytes(Wire *wire, const ProtobufCFieldDescriptor *field, size_t size, int depth)
{
    if (field && field->type == PROTOBUF_C_TYPE_MESSAGE)
        return check_message(wire, field->descriptor, wire->at + size, depth + 1);
    const uint8_t *text = wire->data + wire->at;
    const uint8_t *zero =
        field && field->type == PROTOBUF_C_TYPE_STRING && size > 0 ? memchr(text, 0, size) : NULL;
    wire->at += zero ? (size_t)(zero - text) : size;
    return !zero || wire_error(wire, "text with a zero");
}

/* message ::= (tag value)*; a length-delimited value of a message field is a message again. */
static bool check_message(Wire *wire, const ProtobufCMessageDescriptor *message, size_t end,
                          int depth)
{
    if (depth > MAX_NESTING) return wire_error(wire, "messages nested too deeply");
    while (wire->at < end) {
        uint64_t tag, size = 0;
        if (!read_varint(wire, end, &tag)) return false;
        if (tag >> 3 == 0 || tag >> 3 >= UINT64_C(1) << 29)
            return wire_error(wire, "malformed field number");
        bool ok;
        switch (tag & 7) {
        case WIRE_VARINT: ok = read_varint(wire, end, &size); break;
        case WIRE_FIXED64: ok = skip(wire, end, 8); break;
        case WIRE_FIXED32: ok = skip(wire, end, 4); break;
        case WIRE_LENGTH:
            ok = read_varint(wire, end, &size) &&
                 (size <= end - wire->at || wire_error(wire, "truncated")) &&
                 check_bytes(wire,
                             protobuf_c_message_descriptor_get_field(message, (unsigned)(tag >> 3)),
                             (size_t)size, depth);
            break;
        default: ok = wire_error(wire, "malformed field type");
        }
        if (!ok) return false;
    }
    return true;
}

bool import_wire_check(Str bytes, const ProtobufCMessageDescriptor *message, StrBuf *why)
{
    Wire wire = {.data = (const uint8_t *)bytes.data, .why = why};
    return check_message(&wire, message, bytes.len, 0);
}
