/* ming devices: the devices that --device names. Tests: lit/tools/devices.mir */
#ifndef MING_TOOLS_MING_DEVICES_H
#define MING_TOOLS_MING_DEVICES_H

/* The command with its own argv[0]; an exit status. */
int ming_devices(int argc, char **argv);

#endif
