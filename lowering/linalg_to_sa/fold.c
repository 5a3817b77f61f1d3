/* First layers have few channels, so that most columns of the array would idle. Whoever fills external
 * memory writes each word of the input as a window of the layer, or as a row of one, in place of a
 * pixel: a convolution of 7 x 7 taps of 3 channels takes 7 passes in place of 49 (the specification of
 * F2N2's mapping, B3). No word becomes longer, since words are as long as the array is wide.
 * Tests: lit/lowering/linalg_to_sa/layers.mir, test/e2e/overlay_check.py */
#include "dialects/tensor/tensor.h"
#include "lowering/linalg_to_sa/internal.h"

/* The input that the value is, with or without padding, if nobody else reads it. */
static Op *only_input(const Value *data, const Layer *layer)
{
    const Op *pad = value_def(data);
    if (!value_has_one_use(data) || (pad && pad->def != TENSOR(PAD))) return NULL;
    if (pad && (!op_operand(pad, 0)->is_arg || !value_has_one_use(op_operand(pad, 0)))) return NULL;
    Op *input = value_def(layer->input->map);
    return input->def == SA(INPUT) && !value_has_uses(layer->input->map) ? input : NULL;
}

/* The axes that fit: 0 rows and columns, 1 columns, 2 none. */
static int first_axis(const Lowering *lw, const Layer *layer)
{
    int64_t columns = layer->kernel[1] * layer->input->extents.c;
    if (layer->kernel[0] * columns <= lw->size.cols && layer->kernel[0] > 1) return 0;
    return columns <= lw->size.cols && layer->kernel[1] > 1 ? 1 : 2;
}

/* Moves the window's axes from `first` on to the input. */
static void move_axes(Layer *layer, Tensor *input, int first, int64_t fold[SA_FOLD_COUNT])
{
    int64_t *const extents[] = {&input->extents.h, &input->extents.w};
    const int64_t results[] = {layer->extents.h, layer->extents.w};
    for (int i = 0; i < 2; i++) {
        bool moves = i >= first;
        fold[SA_FOLD_KERNEL + i] = moves ? layer->kernel[i] : 1;
        fold[SA_FOLD_STRIDES + i] = moves ? layer->strides[i] : 1;
        fold[SA_FOLD_DILATIONS + i] = moves ? layer->dilations[i] : 1;
        fold[SA_FOLD_PADS + i] = moves ? layer->pads[i] : 0;
        if (!moves) continue;
        input->extents.c *= layer->kernel[i];
        *extents[i] = results[i];
        layer->kernel[i] = layer->strides[i] = layer->dilations[i] = 1;
        layer->pads[i] = 0;
    }
    fold[SA_FOLD_PAD_VALUE] = layer->pad_value;
}

void to_sa_fold_input(Lowering *lw, const Value *data, Layer *layer)
{
    int64_t fold[SA_FOLD_COUNT];
    Op *old = layer->is_depthwise || layer->groups > 1 || layer->input->is_flat
                  ? NULL
                  : only_input(data, layer);
    int first = first_axis(lw, layer);
    if (!old || first > 1) return;
    Tensor *input = ARENA_NEW(lw->arena, Tensor);
    *input = *layer->input;
    move_axes(layer, input, first, fold);
    if (first == 0) input->is_padded = false;
    const int64_t dims[] = {input->extents.h, input->extents.w, input->extents.c};
    const Type *type = type_tensor(sa_act_type(lw->ctx, &lw->size), dims, 3, NULL);
    Builder b = builder_before(old);
    NamedAttr name = build_named_attr(lw->ctx, "name", op_attr(old, "name"));
    Op *op = build(&b, SA(INPUT), NULL, 0, &type, 1, &name, 1);
    op_set_attr(op, SA_ATTR_TYPE, op_attr(old, SA_ATTR_TYPE));
    op_set_attr(op, SA_ATTR_PORT, op_attr(old, SA_ATTR_PORT));
    op_set_attr(op, SA_ATTR_OFFSET, op_attr(old, SA_ATTR_OFFSET));
    op_set_attr(op, SA_ATTR_FOLD, attr_i64_array(lw->ctx, fold, SA_FOLD_COUNT));
    op_erase(old);
    input->map = op_result(op, 0);
    layer->input = input;
}
