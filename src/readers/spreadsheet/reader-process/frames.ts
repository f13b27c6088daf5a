/**
 * Defines the frames that every reader process writes to its output. A frame is its kind (1 byte), the length of its content (4 bytes, little
 * endian) and the content. The first frame is `STARTED`. Each format defines its other kinds, from 2 on.
 */

export const STARTED = 0;
/** This frame comes instead of another one if the file cannot be read. Its content is the name of the fault. */
export const FAILED = 1;

export const frameHeadBytes = 5;
