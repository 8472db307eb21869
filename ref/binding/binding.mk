# The engine without MPI, for python/zeroproof, which has a transport of its own: a library that
# needs no other one. Its sums of squares and updates are the vector variants, on one thread, which
# have the bits of the proven functions (tests/ref/num/test_num_simd.c, tests/cuda/host_optimizer).
BINDING_SHARED := $(BUILD)/libzeroproof_engine.so
BINDING_VECTOR := $(filter cuda/host_optimizer/update%,$(HOST_OPTIMIZER_SRC)) # without OpenMP
BINDING_FAST   := $(BUILD)/binding/ref/engine/count.o $(BUILD)/binding/ref/engine/rank_arithmetic.o
BINDING_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard ref/engine_mpi/*.c ref/binding/*.c) \
                ref/comm/no_mpi/comm_no_mpi.c) $(BINDING_VECTOR:%.c=$(BUILD)/binding/%.o) \
                $(BINDING_FAST) \
                $(filter-out $(BINDING_FAST:$(BUILD)/binding/%=$(BUILD)/%),$(LIB_OBJ))
$(BINDING_FAST): CPPFLAGS += -Dzp_sumsq_add_f32=zp_sumsq_add_f32_fast \
                             -Dzp_optim_step=zp_host_optim_step
$(BUILD)/binding/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC "$< (binding)"
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(MPI_CFLAGS) -c $< -o $@)
$(BINDING_SHARED): $(BINDING_OBJ)
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libzeroproof_engine.so -o $@ $^ $(ALL_LDFLAGS) \
	  -Wl,--as-needed $(LIBS)

lib: $(BINDING_SHARED)
