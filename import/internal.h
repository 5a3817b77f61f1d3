/* Shared by the sources of the ONNX importer. What fails adds to a message text that the caller
 * puts behind the name of what it is about. */
#ifndef MING_IMPORT_INTERNAL_H
#define MING_IMPORT_INTERNAL_H

#include "import/import.h"
#include "ir/core/core.h"
#include "onnx.pb-c.h"

/* Whether the bytes are a well-formed message whose nesting a recursive reader survives. */
bool import_wire_check(Str bytes, const ProtobufCMessageDescriptor *message, StrBuf *why)
    MUST_CHECK;

/* Dense elements of a tensor; folder as in ImportOptions. NULL: why tells. */
const Attr *import_tensor(Context *ctx, const Onnx__TensorProto *tensor, Str folder, StrBuf *why)
    MUST_CHECK;

/* Dense elements of a sparse tensor, as import_tensor. */
const Attr *import_sparse_tensor(Context *ctx, const Onnx__SparseTensorProto *sparse, Str folder,
                                 StrBuf *why) MUST_CHECK;

/* The `size` bytes of a tensor that lives in another file of the folder. The caller frees *data. */
bool import_external_read(const Onnx__TensorProto *tensor, Str folder, uint8_t **data, size_t size,
                          StrBuf *why) MUST_CHECK;

/* The attribute in MLIR's terms: i64, f32, strings, array<i64>, array<f32>, dense elements. */
const Attr *import_attribute(Context *ctx, const Onnx__AttributeProto *proto, Str folder,
                             StrBuf *why) MUST_CHECK;
bool import_attribute_is_graph(const Onnx__AttributeProto *proto);

/* A graph or a function's body: what its nodes can see. */
typedef struct ImportScope {
    struct ImportScope *outer;             /* of a function's body: that of the call; else NULL */
    const Onnx__NodeProto *call;           /* of a function's body; else NULL */
    Onnx__AttributeProto *const *defaults; /* of the function's attributes */
    size_t default_count;
    Onnx__AttributeProto **owned_defaults; /* the same; NULL if the model owns them */
    Str prefix;                            /* of its nodes' names: "call/" */
    Onnx__NodeProto *const *nodes;
    size_t node_count;
    int64_t opset; /* of ONNX's own operators */
    PtrMap values; /* Ident* of a name -> Value* */
    uint32_t depth;
} ImportScope;

/* The part of the graph that is imported: cut.c. */
typedef struct Cut {
    bool is_active; /* else everything is */
    bool *has_node; /* by index in the graph */
    PtrMap names;   /* Ident* of the tensors that are reached -> itself */
    PtrMap starts;  /* Ident* of `from` tensors -> itself, in order */
    VEC(const Ident *) ends;
} Cut;

typedef struct Importer {
    Context *ctx;
    const ImportOptions *options;
    const Attr *file;  /* location of the file as a whole */
    const Attr *place; /* what locations stand in: the file, or a line of it */
    const Onnx__ModelProto *model;
    const Onnx__GraphProto *graph;
    Op *func;
    Builder b;          /* in the function's body */
    NodeReport *row;    /* of the node at hand, if the options ask for a report */
    PtrMap unknown;     /* Ident* of tensors that nodes without an op define -> itself */
    PtrMap kept;        /* Ident* of tensors that such nodes use -> itself, in order */
    ImportScope *scope; /* of the node at hand */
    Value *no_value;    /* the one onnx.NoValue, once it is needed */
    size_t node_count;  /* imported so far, those of inlined functions included */
    PtrMap shapes;      /* Ident* of a name -> const GivenShape* (graph.c), from the options */
    PtrMap infos;       /* Ident* of a name -> const Onnx__ValueInfoProto* */
    Cut cut;
    Arena arena;
    StrBuf why;                  /* message under construction */
    VEC(const Attr *) arg_attrs; /* of the arguments so far */
} Importer;

/* A protobuf string, which may be NULL. */
static inline Str import_text(const char *text)
{
    return text ? str_from(text) : STR("");
}

const Ident *import_ident(Importer *im, const char *name);
/* The location of something named in the file. */
const Attr *import_loc(Importer *im, Str name);
/* The name by which messages and locations call a node of the scope at hand. */
void import_node_name(const Importer *im, const Onnx__NodeProto *node, size_t index, StrBuf *out);
/* Reports "file: error: <what> 'name' <why>"; false. */
bool import_error(Importer *im, const char *what, Str name);
/* Sets the message to "<before>'name'<after>"; false. */
bool import_why_name(Importer *im, const char *before, Str name, const char *after);
/* Names a value in the scope; false: why tells. */
bool import_define(Importer *im, const Ident *name, Value *value) MUST_CHECK;

/* Arguments, initializers, nodes and the return op. False: diagnosed. */
bool import_graph(Importer *im) MUST_CHECK;
/* The type that the options or the file give to a name; NULL: neither does, or why tells. */
const Type *import_known_type(Importer *im, const Ident *name);
/* A new argument of the function for the tensor of that name. */
Value *import_argument(Importer *im, const Ident *name, const Type *type);

/* Finds the part that the options ask for. False: diagnosed. */
bool import_cut_plan(Importer *im) MUST_CHECK;
bool import_cut_has_name(const Importer *im, const Ident *name);
bool import_cut_has_node(const Importer *im, size_t index);

/* An operator of ONNX Runtime; see contrib.c. */
typedef struct Contrib Contrib;

/* A node on its way to an op: operands and attributes change as it is brought up to date. */
typedef struct NodeParts {
    const Onnx__NodeProto *node;
    const OpDef *def;
    const Contrib *contrib; /* NULL: a standard operator, or one of QONNX */
    const Attr *name;       /* for onnx.name */
    VEC(Value *) operands;  /* NULL: absent */
    const Attr *attrs;      /* dictionary */
    bool is_channels_last;  /* operand 0 and result 0 are (N, spatial..., C) */
    bool is_flat;           /* a Softmax over all dimensions from the axis on */
    uint32_t result_count;
} NodeParts;

/* Appends the ops of a node of the scope and names its results. False: diagnosed. */
bool import_node(Importer *im, const Onnx__NodeProto *node, size_t index) MUST_CHECK;
/* Whether the node is of an operator in the dialect; false: why tells. */
bool import_knows_operator(Importer *im, const Onnx__NodeProto *node) MUST_CHECK;
/* What stands for an absent operand when others follow: one onnx.NoValue for all. */
Value *import_no_value(Importer *im);
/* An op at the end of the body with inferred types; NULL: why tells. */
Op *import_append(Importer *im, const OpDef *def, Value *const *operands, size_t operand_count,
                  const Attr *attrs, uint32_t result_count) MUST_CHECK;

/* A row for every node of the graph, with what the operators' names tell. */
void import_report_begin(Importer *im);
/* import_node whatever comes of it. */
void import_report_node(Importer *im, const Onnx__NodeProto *node, size_t index);
/* Enters why a node, perhaps one of a function's body, was refused. */
void import_report_refusal(Importer *im, Str why);

/* Brings a node of the scope's opset into the form that the onnx dialect has. */
bool import_upgrade_node(Importer *im, NodeParts *parts) MUST_CHECK;

/* The row of an operator of ONNX Runtime; NULL: the node is of another. */
const Contrib *import_contrib_find(const Onnx__NodeProto *node);
/* The operator of the dialect that it applies to reals. */
const OpDef *import_contrib_operator(const Contrib *contrib);
/* Checks the number of operands and drops attributes that change nothing. False: why tells. */
bool import_contrib_prepare(Importer *im, NodeParts *parts) MUST_CHECK;
/* Appends the ops; the last one's result. NULL: why tells. */
Value *import_contrib_append(Importer *im, NodeParts *parts) MUST_CHECK;

/* The function of the file that a node calls, or NULL. */
const Onnx__FunctionProto *import_function_of_node(const Importer *im, const Onnx__NodeProto *node);
/* Appends the ops of its body. False: diagnosed, or else why tells. */
bool import_function_inline(Importer *im, const Onnx__FunctionProto *function,
                            const Onnx__NodeProto *node, size_t index, bool *diagnosed) MUST_CHECK;
/* The attribute behind references to those of the call; NULL: the call has none. */
const Onnx__AttributeProto *import_function_attribute(const ImportScope *scope,
                                                      const Onnx__AttributeProto *proto);

#endif
