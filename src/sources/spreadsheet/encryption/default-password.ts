/**
 * The password that Excel uses where a workbook must be encrypted though nobody chose a password, for example to protect
 * its structure. Readers of workbooks try it before they ask for a password.
 */
export const defaultPassword: Buffer = Buffer.from('VelvetSweatshop', 'utf16le');
