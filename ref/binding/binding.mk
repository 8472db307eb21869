# The engine without MPI, for python/zeroproof, which has a transport of its own: a library that
# needs no other one.
ENGINE_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard ref/engine_mpi/*.c ref/binding/*.c) \
                ref/comm/no_mpi/comm_no_mpi.c)
ENGINE_SHARED := $(BUILD)/libzeroproof_engine.so
$(ENGINE_SHARED): $(ENGINE_OBJ) $(LIB_OBJ)
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libzeroproof_engine.so -o $@ $^ $(ALL_LDFLAGS) \
	  -Wl,--as-needed $(LIBS)

lib: $(ENGINE_SHARED)
