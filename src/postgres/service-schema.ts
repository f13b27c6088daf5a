/** The service's own schema in the database. */
export interface ServiceSchema {
  name: string;
  /** The name, quoted for SQL. */
  quoted: string;
}
