/**
 * The password that Excel uses if a workbook must be encrypted although nobody has chosen a password, for example to protect its
 * structure. Readers of workbooks try it before they ask for a password.
 */
export const defaultPassword: Buffer = Buffer.from('VelvetSweatshop', 'utf16le');
