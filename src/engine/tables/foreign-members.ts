/** Advice for members of a definition that other programs use: here they have another name or place, or a definition cannot have them. */

const length = 'A length is part of the type: write "varchar(5)".';
const precision = 'Precision and scale are part of the type: write "numeric(12,2)".';
const nullable = 'Send "is_nullable": false for NOT NULL.';
const primaryKey = 'Put it into the table: "constraints": {"primary_key": {"columns": ["id"]}}.';
const unique = 'Put it into the table: "constraints": {"unique": [{"columns": ["email"]}]}.';
const reference =
  'Put it into the table: "constraints": {"foreign_keys": [{"column": "customer_id", "reference_table": "customers", "reference_column": "id"}]}.';
const rule =
  'Put it into the foreign key of the table: "constraints": {"foreign_keys": [{"column": "customer_id", "reference_table": "customers", "reference_column": "id", "on_delete": "cascade"}]}.';
const index = 'Put it into the table: "indexes": [{"columns": [{"column": "customer_id"}]}].';
const check = 'Put it into the table: "constraints": {"checks": [{"expression": "amount >= 0"}]}.';
const identity = 'Send the type "serial" or "bigserial".';
const enumType =
  'Put an enum into the table: "types": [{"name": "state", "labels": ["new", "paid"]}], and send its name as the type of the column.';
const numbering = 'Put it into the column: "numbering": {"start": 1000}.';
const partitions =
  'A definition cannot have it. Create the table in PostgreSQL, and then load its rows with if_exists=append.';
const afterwards = 'A definition cannot have it. Create the table, and then add it in PostgreSQL, with';

const advice: Record<string, string> = {
  length,
  size: length,
  max_length: length,
  maxlength: length,
  precision,
  scale: precision,
  null: nullable,
  not_null: nullable,
  notnull: nullable,
  required: nullable,
  primary_key: primaryKey,
  primarykey: primaryKey,
  primary: primaryKey,
  data_type: 'Write "type".',
  datatype: 'Write "type".',
  column: 'Write "name".',
  column_name: 'Write "name".',
  field: 'Write "name".',
  fields: 'Write "columns".',
  values: enumType,
  enum: enumType,
  pk: primaryKey,
  is_primary_key: primaryKey,
  unique,
  is_unique: unique,
  references: reference,
  foreign_key: reference,
  foreignkey: reference,
  auto_increment: identity,
  autoincrement: identity,
  on_delete: rule,
  on_update: rule,
  ondelete: rule,
  onupdate: rule,
  check,
  checks: check,
  index,
  indexes: index,
  indices: index,
  description: 'Write "comment".',
  triggers: `${afterwards} CREATE TRIGGER.`,
  partition_by: partitions,
  partitions,
  not_valid: 'Put it into the foreign key or the check.',
  persistence: 'Write "unlogged": true.',
  start: numbering,
  increment: numbering,
};

/** Returns the advice for an unknown member; undefined: there is none. */
export function adviceForMember(name: string): string | undefined {
  const key = name.toLowerCase();
  return Object.hasOwn(advice, key) ? advice[key] : undefined;
}
