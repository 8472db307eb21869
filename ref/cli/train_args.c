/* The arguments of `zeroproof train`: what they are, and which are refused. */
#include <math.h>
#include <string.h>

#include "../comm/job/job.h"
#include "commands.h"
#include "train_session.h"

enum {
  KEY_DATA = 0x2000,
  KEY_LAYERS,
  KEY_D_MODEL,
  KEY_HEADS,
  KEY_CONTEXT,
  KEY_BATCH,
  KEY_VERIFY,
  KEY_PLOT,
  KEY_SAVE,
  KEY_LOAD,
  KEY_EVERY,
  KEY_VARY,
  KEY_TUPLE,
  KEY_FP32_NORMS,
  KEY_SAMPLE,
  KEY_SCHEDULE,
  KEY_DEVICE,
  KEY_PRODUCTS
};

/* dp · M of the default: 12 splits for dp 1, 2, 3, 4, 6 and 12. */
enum { GLOBAL_MICRO_BATCHES = 12, STEPS = 60 };

static const struct argp_option options[] = {
    {"data", KEY_DATA, "FILE", 0, "text to train on, more may follow (default: the project's spec)",
     0},
    {"verify", KEY_VERIFY, NULL, 0,
     "train serially and, under exact reduction, under other "
     "topologies too; compare all bits",
     0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw the loss curve (gnuplot)", 0},
    {"sample", KEY_SAMPLE, "BYTES", 0, "how much text to sample at the end (200)", 0},
    {"save", KEY_SAVE, "DIR", 0, "write a checkpoint at the end", 0},
    {"save-every", KEY_EVERY, "N", 0,
     "and every N steps, in the background: the ranks copy their state and train on, a thread "
     "writes it, and the checkpoint is published after the first step at whose end all ranks have "
     "written their parts; the next save waits for that",
     0},
    {"load", KEY_LOAD, "DIR", 0,
     "continue from a checkpoint, of any topology, with its hyperparameters and schedule unless "
     "options here set others",
     0},
    {"schedule", KEY_SCHEDULE, "linear|cosine:WARMUP,TOTAL[,FLOOR]", 0,
     "the learning rate rises from 0 to --lr in WARMUP steps, then falls to FLOOR * --lr (FLOOR "
     "from "
     "0, the default, to 1) at step TOTAL; or `constant` (default). Steps count from 0, those of "
     "a checkpoint too",
     0},
    {"device", KEY_DEVICE, "gpu|sim", 0,
     "cuda: on a GPU or a simulated device (default: gpu, if there is one and zeroproof-cuda is "
     "beside this command)",
     9},
    {"products", KEY_PRODUCTS, "ref|cublaslt|bf16", 0,
     "cuda: who multiplies matrices. ref: the same bits as the reference; cublaslt: cuBLASLt, "
     "each element checked against its error bound (default, where it is linked; else ref); bf16: "
     "the default with operands rounded to bf16, on a GPU by tensor cores; its bound assumes how "
     "they add",
     9},
    {NULL, 0, NULL, 0, "Model:", 3},
    {"layers", KEY_LAYERS, "N", 0, "transformer blocks (4)", 3},
    {"d-model", KEY_D_MODEL, "N", 0, "width (48)", 3},
    {"heads", KEY_HEADS, "N", 0, "attention heads (4)", 3},
    {"context", KEY_CONTEXT, "BYTES", 0, "bytes a sequence (64)", 3},
    {"batch", KEY_BATCH, "N", 0, "sequences a micro-batch (2)", 3},
    {"vary-shapes", KEY_VARY, NULL, 0, "vary shapes by micro-batch; sets --dynamic-shapes", 3},
    {"tuple", KEY_TUPLE, NULL, 0, "stages exchange (integer, float) tuples", 3},
    {"fp32-norms", KEY_FP32_NORMS, NULL, 0,
     "gains and biases of layer norms are fp32, whatever the precision", 3},
    {0}};

static int32_t take_size(struct argp_state *state, const char *flag, const char *arg, int64_t lo,
                         int64_t hi)
{
  int64_t v = 0;
  if (zp_parse_count(arg, &v) != 0 || v < lo || v > hi)
    argp_error(state, "--%s: '%s' is not a whole number from %lld to %lld.", flag, arg,
               (long long)lo, (long long)hi);
  return (int32_t)v;
}

/* 0 or 1: which of the two words it is. */
static int one_of(struct argp_state *state, const char *flag, const char *arg, const char *first,
                  const char *second)
{
  if (strcmp(arg, first) != 0 && strcmp(arg, second) != 0)
    argp_error(state, "--%s: '%s' is not one of: %s %s.", flag, arg, first, second);
  return strcmp(arg, second) == 0;
}

static zp_gemm_choice products_of(struct argp_state *state, const char *arg)
{
  if (strcmp(arg, "ref") == 0) return ZP_GEMM_REF;
  if (strcmp(arg, "cublaslt") == 0) return ZP_GEMM_CUBLASLT;
  if (strcmp(arg, "bf16") != 0)
    argp_error(state, "--products: '%s' is not one of: ref cublaslt bf16.", arg);
  return ZP_GEMM_BF16;
}

static void take_schedule(struct argp_state *state, const char *arg, zp_train_args *a)
{
  zp_error err = {0};
  if (zp_lr_schedule_parse(arg, &a->schedule, &err) != 0)
    argp_error(state, "--schedule: %s.", err.text);
  a->schedule_set = 1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
  zp_train_args *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = state->child_inputs[1] = &a->o;
    state->child_inputs[2] = &a->chosen;
    a->chosen.device = ZP_DEVICE_AUTO;
    return 0;
  case KEY_DATA:
  case ARGP_KEY_ARG:
    if (key == ARGP_KEY_ARG && a->n_files == 0)
      argp_error(state, "'%s': name texts after --data.", arg);
    a->files[a->n_files++] = arg; /* room for argc of them */
    return 0;
  case KEY_DEVICE:
    a->chosen.device = one_of(state, "device", arg, "gpu", "sim") ? ZP_DEVICE_SIM : ZP_DEVICE_GPU;
    return 0;
  case KEY_PRODUCTS: a->chosen.gemm = products_of(state, arg); return 0;
  case KEY_VERIFY: a->verify = 1; return 0;
  case KEY_PLOT: a->plot = arg; return 0;
  case KEY_SAVE: a->save = arg; return 0;
  case KEY_LOAD: a->load = arg; return 0;
  case KEY_SCHEDULE: take_schedule(state, arg, a); return 0;
  case KEY_VARY: a->vary_shapes = 1; return 0;
  case KEY_TUPLE: a->tuple = 1; return 0;
  case KEY_FP32_NORMS: a->shape.fp32_norms = 1; return 0;
  case KEY_EVERY: a->save_every = take_size(state, "save-every", arg, 1, 1 << 30); return 0;
  case KEY_SAMPLE: a->sample = take_size(state, "sample", arg, 0, 100000); return 0;
  case KEY_LAYERS: a->shape.layers = take_size(state, "layers", arg, 0, INT32_MAX); return 0;
  case KEY_D_MODEL: a->shape.d_model = take_size(state, "d-model", arg, 0, INT32_MAX); return 0;
  case KEY_HEADS: a->shape.heads = take_size(state, "heads", arg, 0, INT32_MAX); return 0;
  case KEY_CONTEXT: a->shape.context = take_size(state, "context", arg, 0, INT32_MAX); return 0;
  case KEY_BATCH: a->shape.batch = take_size(state, "batch", arg, 0, INT32_MAX); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&zp_options_child, 0, NULL, 0},
                                             {&zp_hyper_child, 0, NULL, 0},
                                             {&zp_engine_child, 0, NULL, 0},
                                             {0}};
const struct argp zp_train_argp = {
    options,
    parse,
    "[--data FILE...]",
    "Trains a byte-level transformer under data and pipeline parallelism with ZeRO."
    "\vDefaults here: pp 2, dp 2, stage 2, 12 micro-batches in all, bf16, exact reduction, 60 "
    "steps. "
    "Started by mpirun (or zeroproof launch), each process is one rank. "
    "Exit codes: 0 success, 1 --verify found a difference, 2 invalid input, 3 the environment "
    "failed.",
    children,
    NULL,
    NULL};

/* ---- Settling -------------------------------------------------------------------------------- */

static int is_set(const zp_options *o, int32_t opt)
{
  return o->by_flag[opt] || o->by_file[opt];
}

/* What `train` has other defaults for than the other commands. */
static void train_defaults(zp_train_args *a)
{
  zp_options *o = &a->o;
  zp_hyper *h = &o->hyper;
  if (!is_set(o, ZP_OPT_PP)) o->value[ZP_OPT_PP] = 2;
  if (!is_set(o, ZP_OPT_DP)) o->value[ZP_OPT_DP] = 2;
  if (!is_set(o, ZP_OPT_STEPS)) o->value[ZP_OPT_STEPS] = STEPS;
  if (!is_set(o, ZP_OPT_MICRO_BATCHES) && GLOBAL_MICRO_BATCHES % o->value[ZP_OPT_DP] == 0)
    o->value[ZP_OPT_MICRO_BATCHES] = GLOBAL_MICRO_BATCHES / o->value[ZP_OPT_DP];
  if (a->vary_shapes) o->value[ZP_OPT_DYNAMIC_SHAPES] = 1;
  if (h->groups == 1 && !o->hyper_by_file[ZP_HYPER_OPTIMIZER]) {
    /* weight decay for matrices only: norms, biases and embeddings are not to shrink */
    if (!o->hyper_by_flag[ZP_HYPER_OPTIMIZER]) h->optim[0].lr = 6e-3;
    h->groups = ZP_GPT_OPTGROUPS;
    h->optim[1] = h->optim[2] = h->optim[0];
    h->optim[0].weight_decay = 0.01;
  }
}

static int check_args(const zp_train_args *a)
{
  const zp_options *o = &a->o;
  char why[256];
  if (o->value[ZP_OPT_TP] > 1 || o->value[ZP_OPT_EP] > 1)
    return zp_refuse(o,
                     "%s %lld: the transformer here is not split over tensor- or "
                     "expert-parallel ranks; use `zeroproof sim`, which runs any topology.",
                     o->value[ZP_OPT_TP] > 1 ? "--tp" : "--ep",
                     (long long)o->value[o->value[ZP_OPT_TP] > 1 ? ZP_OPT_TP : ZP_OPT_EP]);
  if (o->params != NULL)
    return zp_refuse(o, "params: train has its own parameter list; leave the field out, or use "
                        "`zeroproof sim`.");
  if (o->groups != NULL)
    return zp_refuse(o,
                     "groups: the transformer has %d optimizer groups, fixed; leave the option "
                     "out, or use `zeroproof sim`.",
                     ZP_GPT_OPTGROUPS);
  if (zp_gpt_shape_check(&a->shape, why, sizeof why) != 0) return zp_refuse(o, "%s", why);
  if (o->value[ZP_OPT_PP] > zp_gpt_max_pp(&a->shape))
    return zp_refuse(o,
                     "--pp: %lld is out of range; %d layers can be cut into 1 to %d stages. "
                     "Change --pp or --layers.",
                     (long long)o->value[ZP_OPT_PP], (int)a->shape.layers,
                     (int)zp_gpt_max_pp(&a->shape));
  if (o->value[ZP_OPT_STEPS] < 1 || o->value[ZP_OPT_STEPS] > 1000000)
    return zp_refuse(o, "--steps: %lld is out of range; allowed is 1 to 1000000.",
                     (long long)o->value[ZP_OPT_STEPS]);
  if (o->value[ZP_OPT_FP32_GRADIENTS])
    return zp_refuse(o, "--fp32-gradients: the transformer computes gradients in its precision; "
                        "leave the option out, or use `zeroproof sim`.");
  if (a->save_every > 0 && a->save == NULL) return zp_refuse(o, "--save-every: needs --save DIR.");
  return 0;
}

/* Options that another engine has no use for, or lacks. */
static int check_engine(zp_train_args *a)
{
  static zp_case c; /* large */
  const int library = a->engine->library != NULL && *a->engine->library;
  const char *flag = a->save_every > 0 ? "--save-every" : NULL;
  if (a->engine->train == NULL) return 0;
  if (a->chosen.schedules > 0) flag = "--schedules";
  if (a->chosen.trace != NULL || a->chosen.svg != NULL)
    flag = a->chosen.trace != NULL ? "--trace" : "--svg";
  if (flag != NULL)
    return zp_refuse(&a->o, "%s: train does not have this with --engine %s; leave it out.", flag,
                     a->engine->name);
  if (zp_mpi_present())
    return zp_refuse(&a->o, "--engine %s: all ranks are in one process; start it without mpirun.",
                     a->engine->name);
  if (a->chosen.gemm == ZP_GEMM_CUBLASLT && !library)
    return zp_refuse(&a->o,
                     "--products cublaslt: here products are %s; `zeroproof env` says who "
                     "multiplies where.",
                     a->engine->gemm());
  a->follow = a->chosen.gemm == ZP_GEMM_BF16 || (library && a->chosen.gemm != ZP_GEMM_REF);
  if (a->follow && a->verify)
    return zp_refuse(&a->o,
                     "--verify: other topologies are trained by ref, whose products have other "
                     "bits than %s; add --products ref.",
                     a->chosen.gemm == ZP_GEMM_BF16 ? "those of bf16 operands" : "cuBLASLt's");
  zp_case_init(&c);
  c.cfg.pp = (int32_t)a->o.value[ZP_OPT_PP];
  c.replicas = (int32_t)a->o.value[ZP_OPT_REPLICAS];
  c.cfg.dynamic_shapes = (int32_t)a->o.value[ZP_OPT_DYNAMIC_SHAPES];
  c.synth.vary = a->vary_shapes;
  return zp_engine_supports(a->engine, a->o.command, &c);
}

int zp_train_settle(zp_train_args *a)
{
  int code;
  train_defaults(a);
  code = check_args(a);
  return code != 0 ? code : check_engine(a);
}
