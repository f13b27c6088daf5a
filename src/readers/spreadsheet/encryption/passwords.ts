/**
 * The password that Excel uses if a workbook must be encrypted although nobody has chosen a password, for example to protect its
 * structure. Readers of workbooks try it before they ask for a password.
 */
const defaultPassword = 'VelvetSweatshop';

/** The longest password of a workbook (MS-OFFCRYPTO 2.3.4.5), in UTF-16 units. */
export const maxPasswordLength = 255;

/**
 * Returns the passwords that are tried, as the bytes that keys are derived from. The default one is also tried if the caller has sent
 * another, because only some of the caller's files may have that password.
 */
export function passwordsToTry(sent: string | undefined): Buffer[] {
  const passwords = sent === undefined ? [defaultPassword] : [sent, defaultPassword];
  return passwords.map((password) => Buffer.from(password, 'utf16le'));
}
