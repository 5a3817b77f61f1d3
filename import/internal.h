/* Inside of import: the state of an import, and what its sources call of each other.
 *
 * A function that fails adds the reason to a text (`why`); the caller puts in front what the reason
 * is about, a node or a tensor, and reports it once. Functions marked "False: diagnosed" have done
 * so. All names and values of the file are found through an ImportScope. */
#ifndef MING_IMPORT_INTERNAL_H
#define MING_IMPORT_INTERNAL_H

#include "import/import.h"
#include "ir/core/core.h"
#include "onnx.pb-c.h"

/* Whether the bytes are a well-formed message whose nesting a recursive reader survives. */
bool import_wire_check(Str bytes, const ProtobufCMessageDescriptor *message, StrBuf *why)
    MUST_CHECK;

/* A tensor as dense elements; folder as in ImportOptions. NULL: why tells. */
const Attr *import_tensor(Context *ctx, const Onnx__TensorProto *tensor, Str folder, StrBuf *why)
    MUST_CHECK;

/* A sparse tensor as dense elements, likewise. */
const Attr *import_sparse_tensor(Context *ctx, const Onnx__SparseTensorProto *sparse, Str folder,
                                 StrBuf *why) MUST_CHECK;

/* Reads the `size` bytes of a tensor whose data is in another file of the folder. The caller frees
 * *data. */
bool import_external_read(const Onnx__TensorProto *tensor, Str folder, uint8_t **data, size_t size,
                          StrBuf *why) MUST_CHECK;

/* An attribute of a node as an i64, f32, strings, array<i64>, array<f32> or dense elements. NULL:
 * why tells. */
const Attr *import_attribute(Context *ctx, const Onnx__AttributeProto *proto, Str folder,
                             StrBuf *why) MUST_CHECK;
bool import_attribute_is_graph(const Onnx__AttributeProto *proto);

/* The scope of a graph or of a function's body: the names that its nodes can see. */
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

/* The part of the graph that is imported (cut.c). */
typedef struct Cut {
    bool is_active; /* if not, everything is imported */
    bool *has_node; /* by index in the graph */
    PtrMap names;   /* Ident* of the tensors that are reached -> itself */
    PtrMap starts;  /* Ident* of `from` tensors -> itself, in order */
    VEC(const Ident *) ends;
} Cut;

/* One import. import_onnx owns it and everything in it. */
typedef struct Importer {
    Context *ctx;
    const ImportOptions *options;
    const Attr *file;  /* location of the file as a whole */
    const Attr *place; /* the file, or a line of it, in which locations are */
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
    size_t name_bytes;  /* that the names of calls add to those of functions' nodes */
    PtrMap shapes;      /* Ident* of a name -> const GivenShape* (graph.c), from the options */
    PtrMap types;       /* Ident* of a name -> const Datatype* (datatype.c), from the options */
    PtrMap arguments;   /* Ident* of a tensor that is an argument of the function -> Value*, behind
                           the quantizer to its datatype if it has one */
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
/* Appends the name by which messages and locations call a node of the present scope. */
void import_node_name(const Importer *im, const Onnx__NodeProto *node, size_t index, StrBuf *out);
/* Reports "file: error: <what> 'name' <why>" with the message under construction; returns false. */
bool import_error(Importer *im, const char *what, Str name);
/* Sets the message under construction to "<before>'name'<after>"; returns false. */
bool import_why_name(Importer *im, const char *before, Str name, const char *after);
/* Defines the name of a value in the present scope. False: why tells. */
bool import_define(Importer *im, const Ident *name, Value *value) MUST_CHECK;

/* Imports the graph: arguments, initializers, nodes and the return op. False: diagnosed. */
bool import_graph(Importer *im) MUST_CHECK;
/* The type that the options or the file give to a name. NULL: there is none, or it is wrong and why
 * tells. */
const Type *import_known_type(Importer *im, const Ident *name);
/* Adds an argument to the function for the tensor of that name. */
Value *import_argument(Importer *im, const Ident *name, const Type *type);

/* The only input of the part that is imported; NULL: there are others, or none. */
const Ident *import_only_input(Importer *im);
/* Appends an input of a similar name to the message under construction, if there is one. */
void import_suggest_input(Importer *im, Str wanted);

/* Datatypes of arguments (datatype.c). */

/* Reads a text of ImportOptions.input_types. False: diagnosed. */
bool import_read_input_type(Importer *im, Str text) MUST_CHECK;
/* The argument behind a quantizer to the datatype that the options give it or the file annotates it
 * with. NULL: why tells. */
Value *import_typed_argument(Importer *im, const Ident *name, Value *arg);
/* Whether every type that the options give is an argument's, and no quantizer of the file on that
 * gives other integers. False: diagnosed. */
bool import_check_input_types(Importer *im) MUST_CHECK;

/* Finds the part of the graph that the options ask for. False: diagnosed. */
bool import_cut_plan(Importer *im) MUST_CHECK;
bool import_cut_has_name(const Importer *im, const Ident *name);
bool import_cut_has_node(const Importer *im, size_t index);

/* An operator of ONNX Runtime; see contrib.c. */
typedef struct Contrib Contrib;

/* A node on its way to an op. Operands and attributes change while it is brought into the newest
 * form. */
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

/* Appends the ops of a node of the present scope and names its results. False: diagnosed. */
bool import_node(Importer *im, const Onnx__NodeProto *node, size_t index) MUST_CHECK;
/* Whether the dialect has the node's operator. False: why tells. */
bool import_knows_operator(Importer *im, const Onnx__NodeProto *node) MUST_CHECK;
/* The onnx.NoValue that stands for an absent operand if others follow. All share one. */
Value *import_no_value(Importer *im);
/* Appends an op with inferred result types to the body. NULL: why tells. */
Op *import_append(Importer *im, const OpDef *def, Value *const *operands, size_t operand_count,
                  const Attr *attrs, uint32_t result_count) MUST_CHECK;

/* Makes a row of the report for every node of the graph, with what is known from operators'
 * names. */
void import_report_begin(Importer *im);
/* Enters the types that tensors turned out to have. */
void import_report_end(Importer *im);
/* Imports a node as import_node does, but enters a failure into the report. */
void import_report_node(Importer *im, const Onnx__NodeProto *node, size_t index);
/* Enters the reason for which a node, perhaps one of a function's body, was refused. */
void import_report_refusal(Importer *im, Str why);

/* Drops attributes of opsets above 21 that change nothing (versions.c). False: why tells. */
bool import_take_new_attrs(Importer *im, NodeParts *parts) MUST_CHECK;
/* Adds that a tensor has a type which ming does not have; returns false. */
bool import_no_elem_type(StrBuf *why, int64_t data_type);

/* Brings a node of the scope's opset into the form that the onnx dialect has. False: why tells. */
bool import_upgrade_node(Importer *im, NodeParts *parts) MUST_CHECK;

/* The row of a node's operator if it is one of ONNX Runtime's own, else NULL. */
const Contrib *import_contrib_find(const Onnx__NodeProto *node);
/* The operator of the dialect that this operator applies to dequantized operands. */
const OpDef *import_contrib_operator(const Contrib *contrib);
/* Checks the number of operands and drops attributes that change nothing. False: why tells. */
bool import_contrib_prepare(Importer *im, NodeParts *parts) MUST_CHECK;
/* Appends the ops and returns the result of the last one. NULL: why tells. */
Value *import_contrib_append(Importer *im, NodeParts *parts) MUST_CHECK;

/* The function of the file that a node calls, or NULL. */
const Onnx__FunctionProto *import_function_of_node(const Importer *im, const Onnx__NodeProto *node);
/* Appends the ops of a function's body. False: *diagnosed says whether it was reported; if not, why
 * tells. */
bool import_function_inline(Importer *im, const Onnx__FunctionProto *function,
                            const Onnx__NodeProto *node, size_t index, bool *diagnosed) MUST_CHECK;
/* The attribute that a reference to an attribute of the call stands for, through all outer calls;
 * NULL: the call does not have it. */
const Onnx__AttributeProto *import_function_attribute(const ImportScope *scope,
                                                      const Onnx__AttributeProto *proto);

#endif
