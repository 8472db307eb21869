/* The main function of a program of gpu-check, on a device or as a host of simdev. */
#ifndef ZP_GPU_MAIN_H
#define ZP_GPU_MAIN_H

/* The exit status. */
int zp_gpu_main(int argc, char **argv);

#endif
