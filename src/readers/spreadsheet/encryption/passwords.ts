/**
 * The password that Excel uses if a workbook must be encrypted although nobody has chosen a password, for example to protect its
 * structure. Readers of workbooks try it before they ask for a password.
 */
const defaultPassword = 'VelvetSweatshop';

/** The longest password of a workbook (MS-OFFCRYPTO, security considerations: 255 code points), in UTF-16 units. */
export const maxPasswordLength = 255;

/**
 * Returns the passwords to try, as the bytes from which keys are derived. The default password is tried, too, if the caller has
 * sent one, because a caller who sends one password for several files may also have files without a password.
 */
export function passwordsToTry(sent: string | undefined): Buffer[] {
  const passwords = sent === undefined ? [defaultPassword] : [sent, defaultPassword];
  return passwords.map((password) => Buffer.from(password, 'utf16le'));
}
