// The types of the API. `npm run types` makes this file from the OpenAPI document: do not change it by hand.
// The structure of the OpenAPI document has the SHA-256 64dcd092254afb78e8dc6c377e8585b50707db8a459ef4c8b6432b22b9ddeacc.

export interface paths {
  '/healthz': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Alive
     * @description Answers while the process runs. It checks nothing else.
     */
    get: operations['getHealth'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/readyz': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Ready
     * @description Answers 200 while the database accepts changes. Answers 503 within two seconds if the database does not answer or is read-only, as a standby is, while the service starts and stops, and if it has no keys to verify tokens because the identity provider cannot be reached.
     */
    get: operations['getReadiness'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/version': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Version
     * @description Answers the version of the service. The version of the HTTP interface is in its paths.
     */
    get: operations['getVersion'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/table/{table_name}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Describe Table
     * @description Describes the current table. Needs the scope `table:read`.
     */
    get: operations['describeTable'];
    /**
     * Alter Table
     * @description Makes the table what the definition says, in one transaction, or creates it if it is missing. Members that are absent stay as they are; `[]` and null remove; a column that `columns` does not list is dropped. What loses something needs `allow`. If rows cannot follow, the answer names them, and nothing is changed. Needs the scope `table:alter`, to create a table also `table:create`, for new keys, checks, indexes that may be refused, and generated columns also `table:read`, and the role must own the table.
     */
    put: operations['alterTable'];
    /**
     * Create Table
     * @description Creates a table from a definition. Needs the scope `table:create`.
     *
     *     A definition with everything that it may contain:
     *
     *     ```json
     *     {
     *       "table": {
     *         "columns": [
     *           { "name": "id", "type": "bigserial", "is_nullable": false, "default": null },
     *           { "name": "customer_id", "type": "bigint", "is_nullable": false, "default": null },
     *           { "name": "amount", "type": "numeric(12,2)", "is_nullable": false, "default": "0" },
     *           { "name": "status", "type": "text", "is_nullable": false, "default": "pending" },
     *           { "name": "created_at", "type": "timestamptz", "is_nullable": false, "default": "now()" }
     *         ],
     *         "constraints": {
     *           "unique": [{ "name": "", "columns": ["customer_id", "created_at"] }],
     *           "primary_key": { "name": "orders_pkey", "columns": ["id"] },
     *           "foreign_keys": [
     *             {
     *               "name": "orders_customer_id_fkey",
     *               "column": "customer_id",
     *               "reference_table": "customers",
     *               "reference_column": "id",
     *               "reference_schema": "public"
     *             }
     *           ]
     *         }
     *       }
     *     }
     *     ```
     */
    post: operations['createTable'];
    /**
     * Drop Table
     * @description Drops a table with its rows and its partitions. It is refused if another object needs the table, such as a view or a foreign key. Needs the scope `table:drop`.
     */
    delete: operations['dropTable'];
    options?: never;
    head?: never;
    /**
     * Rename Table
     * @description Gives a table another name, another schema or another comment. Other sessions wait for it only for a moment. Needs the scope `table:alter`, and a token that may use both schemas.
     */
    patch: operations['renameTable'];
    trace?: never;
  };
  '/api/v1/webhooks': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Webhooks
     * @description Lists the webhooks of the subject of the token. Needs the scope `webhook:manage`.
     */
    get: operations['listWebhooks'];
    put?: never;
    /**
     * Create Webhook
     * @description Lets the service send events to a URL, as the section `webhooks` of this document describes, signed as Standard Webhooks say. The secret for the signatures is only in this answer. The webhook belongs to the subject of the token, and it keeps the schemas of the token until it is deleted. Needs the scope `event:read`, too. Needs the scope `webhook:manage`.
     */
    post: operations['createWebhook'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/profiles/{name}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read Profile
     * @description Returns the profile that an upload with this name would use, or an earlier version of it.
     */
    get: operations['readProfile'];
    /**
     * Save Profile
     * @description Saves upload parameters, a definition and the names of a file's columns under a name. Another content makes a new version; the same content keeps the version. What no upload accepts is refused. A subject may have 1,000 profiles, and the newest 20 versions of each are kept. Only the subject that has created a shared profile may change it. Needs the scope `profile:manage`.
     */
    put: operations['saveProfile'];
    post?: never;
    /**
     * Delete Profile
     * @description Removes a profile with all its versions. Loads that were accepted with it are not affected. Needs the scope `profile:manage`.
     */
    delete: operations['deleteProfile'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/tables': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Tables
     * @description Lists the tables and partitioned tables that the token may see: in the schemas of its claim `schemas`, on which its role has a privilege. Needs the scope `table:read`.
     */
    get: operations['listTables'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/types': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Types
     * @description Lists the types that a column may have: in the schemas of the token's claim `schemas`, on which its role has the privilege `USAGE`. Needs the scope `table:read`.
     */
    get: operations['listTypes'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/table/{table_name}/rows': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read First Rows
     * @description Returns the first rows of a table, in the order in which PostgreSQL stores them or by a column, and the rows after them in pages. Rows with an equal value are ordered by the primary key; without one, or without `order`, a row that is changed meanwhile may appear twice or not at all. There is no query language here, because PostgreSQL has one. Needs the scope `table:read`. With `format` it sends all rows as a file, and needs the scope `table:export` instead. An error after the first bytes of a file resets the connection.
     */
    get: operations['readRows'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/events': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read Events
     * @description Sends the events of the schemas that the token allows as server-sent events, beginning with the next one. With the header `Last-Event-ID` it continues after that event; events are kept for 7 days. The service ends a stream after 15 minutes or when the token expires, and the client connects again. Needs the scope `event:read`. The section `webhooks` of this document describes the events.
     */
    get: operations['readEvents'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/loads': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Loads
     * @description Lists the loads of the token, the newest first. With the scope `load:read-all` it lists the loads of all tokens. The claim `schemas` of the token limits both.
     */
    get: operations['listLoads'];
    put?: never;
    /**
     * Load Several Tables
     * @description Loads several tables in one transaction: all of them, or nothing. Foreign keys may refer to other tables of the plan, in any order. Needs the scopes of an upload for each table. Errors name their table (`part`), also as CSV (`Accept: text/csv`), in its first column.
     */
    post: operations['loadTables'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/loads/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Describe Load
     * @description Describes a load: its state, its progress, and after its end the answer of the upload. A token sees its own loads, and with the scope `load:read-all` the loads of all tokens.
     */
    get: operations['describeLoad'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/loads/{id}/events': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Watch Load
     * @description Sends the load as server-sent events (`text/event-stream`) until it has ended: the event `state` at the beginning and for each change of the state, `progress` for each change of the numbers, at most four times a second. The data of each event is the load, as Describe Load answers it, and the last event has the answer of the upload. The service ends a stream after 15 minutes or when the token expires; connect again to go on.
     */
    get: operations['watchLoad'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/loads/{id}/problems': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Load Problems
     * @description Lists the stored problems of a load that was refused, of a dry run, and of a load that left out rows: at most 100,000. With `Accept: text/csv` the answer is CSV with the columns `sheet,cell,row,column,value,code,reason`, for a load of several tables after the column `part`. The header `Link` then names the next page.
     */
    get: operations['listLoadProblems'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/loads/{id}/changes': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Load Changes
     * @description Lists the differences between a load or a dry run that compared its rows with those of the table (`on_conflict=update`) and that table, before its triggers: the first 10,000, and the counts of all. Old values need the scope `table:read` and a role that is the role of the load and may read the column. For the load of another subject (`load:read-all`) only the counts are shown. `counts` is null if the rows were not compared, or the load has not ended.
     */
    get: operations['listLoadChanges'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/loads/{id}/faulty-rows': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read Faulty Rows
     * @description Sends the rows with problems of a load that was refused, of a dry run, or of a load that left out rows, as a file: all columns as they were sent, and the reasons in the column `_problem`, which uploads leave out. In a workbook the cells with problems are filled. Repair the file and send it again. Only the issuer and the subject that sent the upload may read it. At most 10,000 rows and 4 MiB of each load are stored.
     */
    get: operations['readFaultyRows'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/loads/{id}/cancel': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Cancel Load
     * @description Cancels a load. After this answer the load will not be committed; it ends within about a second. A token cancels its own loads, and with the scope `load:cancel-all` the loads of all tokens in the schemas that it may use.
     */
    post: operations['cancelLoad'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/webhooks/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Delete Webhook
     * @description Removes a webhook and the records of its deliveries. An attempt that is running is not stopped. Needs the scope `webhook:manage`.
     */
    delete: operations['deleteWebhook'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/webhooks/{id}/deliveries': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Deliveries
     * @description Lists the deliveries of a webhook, the newest first. Deliveries that have ended are kept for 7 days, and of all webhooks of the subject at most 10,000. Needs the scope `webhook:manage`.
     */
    get: operations['listDeliveries'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/webhooks/{id}/ping': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Ping Webhook
     * @description Sends an event of the type `webhook.ping` to the webhook. List Deliveries shows what became of it. Needs the scope `webhook:manage`.
     */
    post: operations['pingWebhook'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/profiles': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Profiles
     * @description Lists the profiles of the subject of the token, and those that are shared with schemas that the token may use, ordered by name.
     */
    get: operations['listProfiles'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/table/{table_name}/upload/json': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Upload Table From Json
     * @description Loads rows into a table, all or nothing. The rows are in `data`, or the body is the array of them, or it has one row object on each line (`application/x-ndjson`; such a body has no definition), or they are in another array of the document (`rows_at`). Without `table` the definition is inferred from all rows. Needs the scope `table:create` (`fail`), `table:load` (`append`) or `table:replace` (`truncate`, `replace`), and `table:create` whenever the table has to be created or `extra_columns=add` is sent, and `table:alter` for `misfits`. With `Accept: text/csv` an upload with problems answers all of them, at most 100,000, as CSV with the columns `sheet,cell,row,column,value,code,reason`.
     */
    post: operations['uploadTableFromJson'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/inspect/json': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Inspect Json
     * @description Returns what a JSON body contains: the arrays of objects in it, and the inferred definition and the first rows of the rows that would be loaded. The body may also have one row object on each line (`application/x-ndjson`). Nothing is written. Needs the scope `table:load`. With `Accept: application/x-ndjson` it answers all rows, one on each line, with the corrections in the member `patch`.
     */
    post: operations['inspectJson'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/table/{table_name}/upload/excel': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Upload Table From Excel
     * @description Loads the rows of one sheet into a table, all or nothing. Without a definition in `body`, the definition is inferred from all rows. Needs the same scopes as Upload Table From Json. With `Accept: text/csv` an upload with problems answers all of them, at most 100,000, as CSV with the columns `sheet,cell,row,column,value,code,reason`.
     */
    post: operations['uploadTableFromExcel'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/inspect/excel': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Inspect Excel
     * @description Returns what a spreadsheet contains: its sheets, the cells that look most like a table, and the header, the inferred definition and the first rows of the chosen sheet. Nothing is written. Needs the scope `table:load`. With `Accept: text/csv` it answers all rows of the chosen sheet as CSV, as an upload reads them, with the corrections of `patch`.
     */
    post: operations['inspectExcel'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface webhooks {
  'table.created': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Table Created
     * @description A table was created. The receiver answers with 2xx within 10 seconds.
     */
    post: operations['onTableCreated'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'table.replaced': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Table Replaced
     * @description An upload replaced a table. The receiver answers with 2xx within 10 seconds.
     */
    post: operations['onTableReplaced'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'table.emptied': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Table Emptied
     * @description An upload emptied a table. The receiver answers with 2xx within 10 seconds.
     */
    post: operations['onTableEmptied'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'table.changed': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Table Changed
     * @description A table got another name, schema or comment. The receiver answers with 2xx within 10 seconds.
     */
    post: operations['onTableChanged'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'table.dropped': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Table Dropped
     * @description A table was dropped. The receiver answers with 2xx within 10 seconds.
     */
    post: operations['onTableDropped'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'rows.loaded': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Rows Loaded
     * @description An upload added or updated rows. The receiver answers with 2xx within 10 seconds.
     */
    post: operations['onRowsLoaded'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'load.refused': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Load Refused
     * @description An upload was refused; nothing was changed. The receiver answers with 2xx within 10 seconds.
     */
    post: operations['onLoadRefused'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'load.failed': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Load Failed
     * @description The service or the database failed during an upload; nothing was changed. The receiver answers with 2xx within 10 seconds.
     */
    post: operations['onLoadFailed'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'webhook.ping': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Webhook Ping
     * @description A caller tries the webhook. The receiver answers with 2xx within 10 seconds.
     */
    post: operations['onWebhookPing'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface components {
  schemas: {
    Health: {
      /** @description `alive` or `ready`. */
      status: string;
    };
    /** @description One problem: its place, the value, and what is wrong with it. */
    Problem: {
      /** @description In a load of several tables: the number of the table in the plan, from 1. */
      part?: number;
      /** @description JSON Pointer (RFC 6901) into the request, for JSON. */
      pointer?: string;
      /** @description The line of the request, from 1, for newline-delimited JSON. */
      line?: number;
      /** @description Name of the sheet, for spreadsheets. */
      sheet?: string;
      /** @description The address of the cell as Excel writes it, such as `Orders!C1483`, for spreadsheets. */
      cell?: string;
      /** @description The number of the data row, from 1. */
      row?: number;
      /** @description For a row of an existing table: the columns of its primary key with their values, or `ctid`. In the record of a load those columns are absent that you may not read. */
      key?: {
        [key: string]: string;
      };
      /** @description Name of the column. */
      column?: string;
      /** @description Name of the parameter (path or query) or of the part of the form. */
      parameter?: string;
      /** @description The value with the problem, shortened. */
      value?: string;
      /**
       * @description What is wrong, kebab-case, stable.
       * @example missing
       * @example wrong-type
       * @example unknown-property
       * @example unknown-key
       * @example invalid-text
       * @example invalid-name
       * @example reserved-name
       * @example duplicate-column
       * @example duplicate-name
       * @example duplicate-constraint
       * @example name-taken
       * @example too-many-columns
       * @example too-many-keys
       * @example row-too-long
       * @example defaults-too-long
       * @example types-too-nested
       * @example unknown-type
       * @example type-differs
       * @example no-conversion
       * @example unsupported-type
       * @example invalid-type-modifier
       * @example permission-denied
       * @example unknown-operator-class
       * @example invalid-index
       * @example invalid-default
       * @example invalid-expression
       * @example unknown-function
       * @example unknown-sequence
       * @example not-supported
       * @example unknown-column
       * @example repeated-column
       * @example repeated-key
       * @example type-not-indexable
       * @example unknown-reference
       * @example mixed-reference
       * @example reference-not-unique
       * @example reference-type-mismatch
       * @example distribution-conflict
       * @example type-not-hashable
       * @example key-without-distribution-column
       * @example reference-not-colocated
       * @example differs
       * @example row-not-an-object
       * @example no-column-in-common
       * @example generated-column
       * @example null-not-allowed
       * @example not-a-boolean
       * @example not-a-whole-number
       * @example not-a-number
       * @example not-a-date
       * @example not-a-time
       * @example not-a-timestamp
       * @example not-an-interval
       * @example not-a-uuid
       * @example not-bytes
       * @example not-an-address
       * @example not-a-mac-address
       * @example not-an-enum-value
       * @example not-an-array
       * @example invalid-input
       * @example not-exact
       * @example no-such-date
       * @example no-such-time
       * @example out-of-range
       * @example too-long
       * @example nul-character
       * @example not-for-jsonb
       * @example json-array-as-text
       * @example nested-value
       * @example ragged-array
       * @example too-many-dimensions
       * @example too-many-elements
       * @example too-complex
       * @example null-element
       * @example host-bits-set
       * @example date-not-allowed
       * @example error-cell
       * @example formula-without-value
       * @example date-out-of-range
       * @example unreadable-cell
       * @example has-nanoseconds
       * @example bytes-not-text
       * @example text-behind-quote
       * @example not-in-date-order
       * @example not-in-number-form
       * @example not-unique
       * @example no-such-reference
       * @example check-violation
       * @example failing-default
       * @example refused-by-postgresql
       * @example unknown-parameter
       * @example invalid-parameter
       * @example missing-part
       * @example unknown-part
       * @example repeated-part
       * @example not-a-file
       * @example no-such-cell
       * @example repeated-cell
       * @example no-key
       * @example rows-not-found
       * @example rows-not-an-array
       * @example dependent-object
       * @example loses-data
       */
      code: string;
      /** @description What is wrong in words and, unless it is obvious, what to do. */
      detail: string;
    };
    /** @description A notice about something that did not stop the load but may be unexpected. */
    Warning: {
      /** @description In a load of several tables: the number of the table in the plan, from 1. */
      part?: number;
      /**
       * @description Kebab-case, stable.
       * @example ignored-column
       * @example added-column
       * @example widened-column
       * @example mixed-column
       * @example other-notation
       * @example natural-values
       * @example nothing-renamed
       * @example nothing-filled
       * @example null-object
       * @example two-digit-year
       * @example repeated-keys
       * @example key-not-brought
       * @example time-left-out
       * @example date-left-out
       * @example offset-left-out
       * @example fraction-rounded
       * @example digits-rounded
       * @example sign-left-out
       * @example zeros-left-out
       * @example suppressed-rows
       * @example rows-left-out
       * @example recovery-pending
       * @example own-numbers
       * @example numbers-taken
       * @example dotted-name
       * @example text-default
       * @example table-created
       * @example lost-by-replace
       * @example blank-header
       * @example repeated-header
       * @example shortened-header
       * @example header-row
       * @example header-rows-left-out
       * @example proposal-taken
       * @example total-row
       * @example rows-below
       * @example rows-not-read
       * @example other-table
       * @example other-sheets
       * @example cell-errors-as-null
       * @example merged-cells
       * @example lines-in-a-field
       * @example spaced-quotes
       * @example repaired-quotes
       * @example short-rows
       * @example long-rows
       * @example text-formulas
       * @example blank-rows
       * @example hidden-rows
       * @example hidden-columns
       * @example footer-rows
       * @example totals-row
       * @example unreadable-names
       * @example uncalculated-formulas
       * @example same-file
       * @example no-rows
       * @example rows-elsewhere
       * @example delimiter
       * @example quote
       * @example escape
       * @example encoding
       */
      code: string;
      /** @description The warning in words. */
      detail: string;
      /** @description Name of the column. */
      column?: string;
      /** @description What to send instead, if the warning names it. There are several if the data does not show which is right. Each is enough alone, except for `mixed-column`. */
      choices?: {
        /** @description The parameters of the query to send besides the others, with their values before they are escaped: `{"date_order": "dmy"}`. Each replaces the parameter of the same name, but the items of `null_values` are added to those that were sent. `decimal_sign` and `thousands_sign` replace both, `header` also replaces `header_row`, and `range` also replaces `header_row` and `table_range`. */
        parameters: {
          [key: string]: string;
        };
        /** @description The type of the column, for a definition that is sent with them. */
        type?: string;
      }[];
    };
    /** @description An error (RFC 9457). */
    ProblemDocument: {
      /**
       * Format: uri-reference
       * @description Where the code is explained.
       */
      type: string;
      /** @description The code in words. */
      title: string;
      /** @description The HTTP status. */
      status: number;
      /** @description What is wrong with this request, and what to do. */
      detail: string;
      /** @description The request id, which is also in the log. */
      instance: string;
      /**
       * @description Stable.
       * @enum {string}
       */
      code:
        | 'invalid-json'
        | 'invalid-multipart'
        | 'invalid-file'
        | 'invalid-content-encoding'
        | 'invalid-request'
        | 'missing-token'
        | 'invalid-token'
        | 'insufficient-scope'
        | 'schema-forbidden'
        | 'permission-denied'
        | 'profile-not-owned'
        | 'path-not-found'
        | 'schema-not-found'
        | 'table-not-found'
        | 'load-not-found'
        | 'no-faulty-rows'
        | 'webhook-not-found'
        | 'profile-not-found'
        | 'method-not-allowed'
        | 'not-acceptable'
        | 'request-timeout'
        | 'table-exists'
        | 'dependent-objects'
        | 'write-conflict'
        | 'loses-data'
        | 'lock-too-long'
        | 'load-ended'
        | 'load-cancelled'
        | 'idempotency-key-in-use'
        | 'events-removed'
        | 'precondition-failed'
        | 'limit-exceeded'
        | 'unsupported-media-type'
        | 'expectation-failed'
        | 'invalid-parameter'
        | 'invalid-definition'
        | 'distribution-unavailable'
        | 'invalid-data'
        | 'nothing-to-load'
        | 'password-required'
        | 'wrong-password'
        | 'unsupported-file'
        | 'link-refused'
        | 'idempotency-key-reused'
        | 'invalid-webhook'
        | 'invalid-profile'
        | 'too-many-uploads'
        | 'too-many-requests'
        | 'queue-full'
        | 'headers-too-large'
        | 'internal-error'
        | 'not-enabled'
        | 'link-failed'
        | 'database-unavailable'
        | 'database-busy'
        | 'token-keys-unavailable'
        | 'storage-full'
        | 'service-busy'
        | 'shutting-down';
      /** @description The first 100 problems. */
      errors?: components['schemas']['Problem'][];
      /** @description The number of all problems, including those not listed. */
      error_count?: number;
      /** @description All problems of the data, grouped by column and code. The largest group comes first. Absent if no two problems have the same column and code. */
      error_groups?: {
        /** @description In a load of several tables: the number of the table in the plan, from 1. */
        part?: number;
        column?: string;
        code: string;
        /** @description The number of problems with this code in this column. */
        count: number;
        /** @description The place and the value of the first problem. */
        first: {
          pointer?: string;
          line?: number;
          sheet?: string;
          cell?: string;
          row?: number;
          value?: string;
        };
      }[];
      /** @description The warnings of a refused upload, if there are any. */
      warnings?: components['schemas']['Warning'][];
    };
    Version: {
      /** @description Always `tablewright`. */
      name: string;
      /**
       * @description The version of the service (Semantic Versioning).
       * @example 0.1.0
       */
      version: string;
    };
    /** @description With a type of the serial family: the column takes its default from a sequence that it owns, instead of being an identity column. */
    Sequence: {
      /**
       * @description Name of the sequence. Empty, null or absent: the service chooses one.
       * @example orders_id_seq
       */
      name?: string | null;
      /** @description The type of the numbers of the sequence. Default: that of the column. */
      type?: ('smallint' | 'integer' | 'bigint') | null;
    };
    /** @description With a type of the serial family: how its sequence counts. */
    Numbering: {
      /** @description The first number. Default: `min`. A number beyond 2^53 is a string. */
      start?: number | string | null;
      /** @description The distance between two numbers: 1 or more. Default: 1. A number beyond 2^53 is a string. */
      increment?: number | string | null;
      /** @description The smallest number. Default: 1. A number beyond 2^53 is a string. */
      min?: number | string | null;
      /** @description The largest number. Default: the largest one of the type. A number beyond 2^53 is a string. */
      max?: number | string | null;
      /** @description How many numbers a session takes at once. Default: 1. A number beyond 2^53 is a string. */
      cache?: number | string | null;
      /** @description true: `min` follows `max`. false: there are no more numbers then. Default: false. */
      cycle?: boolean | null;
    };
    /** @description A column. */
    ColumnDefinition: {
      /** @description Ignored: PostgreSQL numbers the columns. */
      id?: unknown;
      /**
       * @description Name of the column. 1 to 63 bytes of UTF-8, case-sensitive and used exactly as written.
       * @example amount
       */
      name: string;
      /**
       * @description A type of the connected PostgreSQL as it spells it, with modifiers and arrays (varchar(20), numeric(12,2), timestamptz, text[], enums, domains, extension types); serial, bigserial or smallserial for an identity column; or a friendly alias (string, datetime, double, number, blob, …). An alias is always the alias; a type of the database with its name, and the row type of a table, are written in quotes or with their schema.
       * @example numeric(12,2)
       * @example text
       * @example timestamptz
       */
      type: string;
      /** @description Whether the column accepts NULL. Default: true. Columns of the primary key never accept it. */
      is_nullable?: boolean | null;
      /**
       * @description null: there is no default. '…' or '…'::type: an SQL literal. A call of an allowed function with literal arguments (now(), gen_random_uuid(), nextval('…')) or a keyword such as CURRENT_TIMESTAMP: that expression. Anything else: literal text in the input syntax of the column's type (0, true, pending, {}). A number or boolean means its JSON text.
       * @example now()
       * @example 0
       * @example pending
       * @example 1.5
       * @example true
       * @example null
       */
      default?: string | number | boolean | null;
      /**
       * @description A comment (COMMENT ON). Empty, null or absent: none.
       * @example Without VAT
       */
      comment?: string | null;
      sequence?: components['schemas']['Sequence'] | null;
      numbering?: components['schemas']['Numbering'] | null;
      /** @description always: the serial column is GENERATED ALWAYS AS IDENTITY, so rows cannot set its value. */
      identity?: 'always' | null;
      /**
       * @description The expression of a GENERATED ALWAYS AS (…) column, over other columns of this table. PostgreSQL computes its values.
       * @example net * 1.19
       */
      generated?: string | null;
      /** @description Whether the values of a generated column are `stored` (default), or computed when they are read: `virtual`, from PostgreSQL 18 on. */
      generated_kind?: ('stored' | 'virtual') | null;
      /** @description true: `default` is an SQL expression, such as `now() + interval '1 day'`, even if it has operators or other functions. */
      default_is_expression?: boolean;
    };
    /** @description A unique constraint. An entry with an empty name and no columns is ignored. */
    UniqueKey: {
      /**
       * @description Name of the constraint, 1 to 63 bytes of UTF-8. Empty, null or absent: the service chooses one.
       * @example orders_number_key
       */
      name?: string | null;
      /**
       * @description Names of columns of this table, in the order of the key.
       * @example [
       *       "number"
       *     ]
       */
      columns?: string[] | null;
      /** @description Further columns whose values are in the index of the key, but do not have to be unique. */
      include?: string[] | null;
      /** @description A transaction can have the key checked at its end (SET CONSTRAINTS): `initially deferred` without asking. `on_conflict` and foreign keys cannot use such a key. Default: it cannot. */
      deferrable?: ('initially immediate' | 'initially deferred') | null;
      /** @description true: two rows with NULL in the key conflict like two rows with the same value. Default: false. */
      nulls_not_distinct?: boolean | null;
    };
    /** @description The primary key. With an empty name and no columns the table has none. */
    PrimaryKey: {
      /**
       * @description Name of the constraint, 1 to 63 bytes of UTF-8. Empty, null or absent: the service chooses one.
       * @example orders_pkey
       */
      name?: string | null;
      /**
       * @description Names of columns of this table, in the order of the key.
       * @example [
       *       "id"
       *     ]
       */
      columns?: string[] | null;
      /** @description Further columns whose values are in the index of the key, but do not have to be unique. */
      include?: string[] | null;
      /** @description A transaction can have the key checked at its end (SET CONSTRAINTS): `initially deferred` without asking. `on_conflict` and foreign keys cannot use such a key. Default: it cannot. */
      deferrable?: ('initially immediate' | 'initially deferred') | null;
    };
    /** @description One pair of columns of a foreign key. Entries that share a non-empty name form one composite key, in their order. */
    ForeignKey: {
      /**
       * @description Name of the constraint, 1 to 63 bytes of UTF-8. Empty, null or absent: the service chooses one.
       * @example orders_customer_id_fkey
       */
      name?: string | null;
      /**
       * @description A column of this table.
       * @example customer_id
       */
      column: string;
      /**
       * @description The table that the key refers to. It may be this table.
       * @example customers
       */
      reference_table: string;
      /**
       * @description The column that the column refers to. It must be a primary key or unique.
       * @example id
       */
      reference_column: string;
      /** @description The schema of the table that the key refers to. Default: `public`. */
      reference_schema?: string | null;
      /** @description What happens to a row of this table if the row that it refers to is deleted. Default: `no action`. */
      on_delete?: ('no action' | 'restrict' | 'cascade' | 'set null' | 'set default') | null;
      /** @description What happens to a row of this table if the key that it refers to changes. Default: `no action`. */
      on_update?: ('no action' | 'restrict' | 'cascade' | 'set null' | 'set default') | null;
      /** @description A transaction can have the key checked at its end (SET CONSTRAINTS): `initially deferred` without asking. Default: it cannot. */
      deferrable?: ('initially immediate' | 'initially deferred') | null;
      /** @description true: rows that are in the table when the constraint is added are not checked, also those of the upload that makes the table. Later rows are checked (NOT VALID). Default: false. */
      not_valid?: boolean | null;
    };
    /** @description A foreign key with all its columns. Answers have an entry for each pair of columns instead. */
    WholeForeignKey: {
      /**
       * @description Name of the constraint, 1 to 63 bytes of UTF-8. Empty, null or absent: the service chooses one.
       * @example orders_customer_fkey
       */
      name?: string | null;
      /**
       * @description Columns of this table.
       * @example [
       *       "country",
       *       "customer"
       *     ]
       */
      columns: string[];
      /**
       * @description The table that the key refers to. It may be this table.
       * @example customers
       */
      reference_table: string;
      /**
       * @description The column that each of the columns refers to. Together they must be a primary key or unique.
       * @example [
       *       "country",
       *       "number"
       *     ]
       */
      reference_columns: string[];
      /** @description The schema of the table that the key refers to. Default: `public`. */
      reference_schema?: string | null;
      /** @description What happens to a row of this table if the row that it refers to is deleted. Default: `no action`. */
      on_delete?: ('no action' | 'restrict' | 'cascade' | 'set null' | 'set default') | null;
      /** @description What happens to a row of this table if the key that it refers to changes. Default: `no action`. */
      on_update?: ('no action' | 'restrict' | 'cascade' | 'set null' | 'set default') | null;
      /** @description A transaction can have the key checked at its end (SET CONSTRAINTS): `initially deferred` without asking. Default: it cannot. */
      deferrable?: ('initially immediate' | 'initially deferred') | null;
      /** @description true: rows that are in the table when the constraint is added are not checked, also those of the upload that makes the table. Later rows are checked (NOT VALID). Default: false. */
      not_valid?: boolean | null;
    };
    /** @description A CHECK constraint. */
    Check: {
      /**
       * @description Name of the constraint, 1 to 63 bytes of UTF-8. Empty, null or absent: the service chooses one.
       * @example orders_amount_check
       */
      name?: string | null;
      /**
       * @description A boolean expression over columns of this table. A row for which it is false is refused.
       * @example amount >= 0
       */
      expression: string;
      /** @description true: rows that are in the table when the constraint is added are not checked, also those of the upload that makes the table. Later rows are checked (NOT VALID). Default: false. */
      not_valid?: boolean | null;
    };
    /** @description A constraint or index that a definition cannot express, as PostgreSQL writes it. */
    OtherConstraint: {
      name: string;
      /** @example CHECK ((amount > (0)::numeric)) */
      definition: string;
    };
    /** @description Keys, foreign keys and CHECK constraints. If absent or null, the table has none. */
    Constraints: {
      unique?: components['schemas']['UniqueKey'][] | null;
      primary_key?: components['schemas']['PrimaryKey'] | null;
      foreign_keys?:
        | (components['schemas']['ForeignKey'] | components['schemas']['WholeForeignKey'])[]
        | null;
      checks?: components['schemas']['Check'][] | null;
      /** @description Only in answers: constraints and indexes that a definition cannot express (EXCLUDE, MATCH FULL, …). Leave them out of a request. */
      others?: components['schemas']['OtherConstraint'][];
    };
    /** @description A column or an expression of an index. */
    IndexColumn: {
      /**
       * @description A column of this table.
       * @example ordered_on
       */
      column?: string | null;
      /**
       * @description Instead of `column`: an expression over columns of this table.
       * @example lower(name)
       */
      expression?: string | null;
      /** @description The order of the values. Default: `asc`. */
      order?: ('asc' | 'desc') | null;
      /** @description Where NULL is in this order. Default: `last`, and `first` with `desc`. */
      nulls?: ('first' | 'last') | null;
      /**
       * @description An operator class of PostgreSQL or of an installed extension, as in `text_pattern_ops` or `public.gin_trgm_ops`. Default: that of the type.
       * @example text_pattern_ops
       */
      operator_class?: string | null;
    };
    /** @description An index that is not the index of a key. */
    Index: {
      /**
       * @description Name of the index, 1 to 63 bytes of UTF-8. Empty, null or absent: the service chooses one.
       * @example orders_ordered_on_idx
       */
      name?: string | null;
      /** @description true: no two rows have the same values in its columns. Default: false. */
      unique?: boolean | null;
      /**
       * @description The access method: btree, hash, gin, gist, spgist, brin, or one of an extension. Default: `btree`.
       * @example gin
       */
      method?: string | null;
      /** @description The columns, in the order of the index. */
      columns: components['schemas']['IndexColumn'][];
      /** @description Further columns whose values are in the index, but are not searched. */
      include?: string[] | null;
      /**
       * @description A boolean expression over columns of this table. The index has only the rows for which it is true.
       * @example deleted_at IS NULL
       */
      where?: string | null;
    };
    /** @description An enum that the table needs. */
    EnumDefinition: {
      /**
       * @description Name of the type, in the schema of the table. 1 to 63 bytes of UTF-8, case-sensitive and used exactly as written.
       * @example order_state
       */
      name: string;
      /**
       * @description The values, in their order. Each has at most 63 bytes of UTF-8.
       * @example [
       *       "new",
       *       "paid",
       *       "sent"
       *     ]
       */
      labels: string[];
    };
    /** @description A domain that the table needs. */
    DomainDefinition: {
      /**
       * @description Name of the type, in the schema of the table. 1 to 63 bytes of UTF-8, case-sensitive and used exactly as written.
       * @example order_state
       */
      name: string;
      /**
       * @description The type below the domain.
       * @example numeric(5,2)
       */
      base: string;
      /**
       * @description What its values must satisfy: a boolean expression over `VALUE`.
       * @example VALUE > 0
       */
      check?: string | null;
    };
    /** @description How Citus distributes the table over its nodes. Only a PostgreSQL with Citus accepts and answers it. Default: the schema decides. In a distributed schema the table is distributed with it, and in any other schema it is an ordinary table. */
    Distribution: {
      /**
       * @description column: the value of one column decides on which node a row is. reference: every node has a copy. local: an ordinary table at the coordinator. schema: the schema of the table is distributed, and all its tables are on one node.
       * @enum {string}
       */
      kind: 'column' | 'reference' | 'schema' | 'local';
      /**
       * @description With the kind `column`: the distribution column. Every key of the table must contain it.
       * @example customer_id
       */
      column?: string | null;
      /** @description With the kind `column`: the number of shards. Default: that of the tables that it refers to or replaces, or the setting `citus.shard_count`. Other kinds ignore it. */
      shards?: number | null;
      /** @description Ignored: only answers have it. */
      bytes?: unknown;
    };
    /**
     * @description A table definition.
     * @example {
     *       "columns": [
     *         {
     *           "name": "id",
     *           "type": "bigserial",
     *           "is_nullable": false
     *         },
     *         {
     *           "name": "number",
     *           "type": "varchar(20)",
     *           "is_nullable": false
     *         },
     *         {
     *           "name": "amount",
     *           "type": "numeric(12,2)"
     *         },
     *         {
     *           "name": "ordered_on",
     *           "type": "date"
     *         }
     *       ],
     *       "constraints": {
     *         "unique": [
     *           {
     *             "name": "",
     *             "columns": [
     *               "number"
     *             ]
     *           }
     *         ],
     *         "primary_key": {
     *           "name": "orders_pkey",
     *           "columns": [
     *             "id"
     *           ]
     *         },
     *         "foreign_keys": []
     *       }
     *     }
     */
    TableDefinition: {
      /** @description Ignored: the path names the table. */
      name?: unknown;
      /** @description Ignored: the query names the schema. */
      schema?: unknown;
      /** @description The columns, in the order of the table. */
      columns: components['schemas']['ColumnDefinition'][];
      /**
       * @description A comment (COMMENT ON). Empty, null or absent: none.
       * @example One row for each order
       */
      comment?: string | null;
      /** @description true: the table is faster to write and empty after a crash of PostgreSQL, and it is on no standby (UNLOGGED). Default: false. */
      unlogged?: boolean | null;
      constraints?: components['schemas']['Constraints'] | null;
      /** @description The indexes besides those of the keys. They are made after the rows are loaded. */
      indexes?: components['schemas']['Index'][] | null;
      /** @description The enums and domains that the table needs, a domain after the types below it. Those that are missing in the schema of the table are made. */
      types?: (components['schemas']['EnumDefinition'] | components['schemas']['DomainDefinition'])[] | null;
      distribution?: components['schemas']['Distribution'] | null;
    };
    TableDefinitionBody: {
      table: components['schemas']['TableDefinition'];
    };
    /** @description A column of the table in PostgreSQL. */
    ColumnDescription: {
      /** @description The number of the column in PostgreSQL. It does not change when the column is renamed, and it is never used again. */
      id: number;
      name: string;
      /**
       * @description In the canonical form of PostgreSQL; identity columns as serial, bigserial or smallserial.
       * @example character varying(20)
       */
      type: string;
      is_nullable: boolean;
      /**
       * @example 'pending'::text
       * @example now()
       * @example null
       */
      default: string | null;
      comment?: string;
      sequence?: {
        name: string;
        /** @description The type of the numbers of the sequence. Default: that of the column. */
        type?: ('smallint' | 'integer' | 'bigint') | null;
      };
      numbering?: components['schemas']['Numbering'];
      /** @description always: the serial column is GENERATED ALWAYS AS IDENTITY, so rows cannot set its value. */
      identity?: 'always' | null;
      /**
       * @description The expression of a GENERATED ALWAYS AS (…) column, over other columns of this table. PostgreSQL computes its values.
       * @example net * 1.19
       */
      generated?: string | null;
      /** @description Whether the values of a generated column are `stored` (default), or computed when they are read: `virtual`, from PostgreSQL 18 on. */
      generated_kind?: ('stored' | 'virtual') | null;
      /** @description true: `default` is an SQL expression, such as `now() + interval '1 day'`, even if it has operators or other functions. */
      default_is_expression?: boolean;
    };
    /** @description A CHECK constraint. */
    CheckDescription: {
      name: string;
      expression: string;
      /** @description true: rows that are in the table when the constraint is added are not checked, also those of the upload that makes the table. Later rows are checked (NOT VALID). Default: false. */
      not_valid?: boolean | null;
    };
    /** @description An index that is not the index of a key. */
    IndexDescription: {
      name: string;
      unique?: boolean;
      /** @description Absent: btree. */
      method?: string;
      columns: components['schemas']['IndexColumn'][];
      include?: string[];
      where?: string;
    };
    /** @description How Citus distributes the table over its nodes. Only a PostgreSQL with Citus accepts and answers it. */
    DistributionDescription: {
      /**
       * @description column: the value of one column decides on which node a row is. reference: every node has a copy. local: an ordinary table at the coordinator. schema: the schema of the table is distributed, and all its tables are on one node.
       * @enum {string}
       */
      kind: 'column' | 'reference' | 'schema' | 'local';
      /** @description The distribution column. */
      column?: string;
      /** @description The number of shards. An ordinary table has none. */
      shards?: number;
      /** @description Only in the answer of Describe Table: the size of the table on all nodes, with indexes. null: a node does not answer. */
      bytes?: number | null;
    };
    /** @description The table in PostgreSQL. You can send this object again as a definition. */
    TableDescription: {
      name: string;
      schema: string;
      columns: components['schemas']['ColumnDescription'][];
      constraints: {
        unique: {
          name: string;
          columns: string[];
          /** @description Further columns whose values are in the index of the key, but do not have to be unique. */
          include?: string[] | null;
          /** @description A transaction can have the key checked at its end (SET CONSTRAINTS): `initially deferred` without asking. `on_conflict` and foreign keys cannot use such a key. Default: it cannot. */
          deferrable?: ('initially immediate' | 'initially deferred') | null;
          /** @description true: two rows with NULL in the key conflict like two rows with the same value. Default: false. */
          nulls_not_distinct?: boolean | null;
        }[];
        /** @description With an empty name and no columns the table has no primary key. */
        primary_key: {
          name: string;
          columns: string[];
          /** @description Further columns whose values are in the index of the key, but do not have to be unique. */
          include?: string[] | null;
          /** @description A transaction can have the key checked at its end (SET CONSTRAINTS): `initially deferred` without asking. `on_conflict` and foreign keys cannot use such a key. Default: it cannot. */
          deferrable?: ('initially immediate' | 'initially deferred') | null;
        };
        foreign_keys: {
          name: string;
          column: string;
          reference_table: string;
          reference_column: string;
          reference_schema: string;
          /** @description What happens to a row of this table if the row that it refers to is deleted. Default: `no action`. */
          on_delete?: ('no action' | 'restrict' | 'cascade' | 'set null' | 'set default') | null;
          /** @description What happens to a row of this table if the key that it refers to changes. Default: `no action`. */
          on_update?: ('no action' | 'restrict' | 'cascade' | 'set null' | 'set default') | null;
          /** @description A transaction can have the key checked at its end (SET CONSTRAINTS): `initially deferred` without asking. Default: it cannot. */
          deferrable?: ('initially immediate' | 'initially deferred') | null;
          /** @description true: rows that are in the table when the constraint is added are not checked, also those of the upload that makes the table. Later rows are checked (NOT VALID). Default: false. */
          not_valid?: boolean | null;
        }[];
        checks?: components['schemas']['CheckDescription'][];
        /** @description Only in answers: constraints and indexes that a definition cannot express (EXCLUDE, MATCH FULL, …). Leave them out of a request. */
        others?: components['schemas']['OtherConstraint'][];
      };
      comment?: string;
      /** @description true: the table is faster to write and empty after a crash of PostgreSQL, and it is on no standby (UNLOGGED). Default: false. */
      unlogged?: boolean | null;
      indexes?: components['schemas']['IndexDescription'][];
      types?: (components['schemas']['EnumDefinition'] | components['schemas']['DomainDefinition'])[];
      distribution?: components['schemas']['DistributionDescription'];
    };
    FoundTable: {
      table: components['schemas']['TableDescription'];
      /** @description The differences between the existing table and the definition. */
      differences: string[];
    };
    CreatedTable: {
      table: components['schemas']['TableDescription'];
      /** @description Decisions of the service that you should check: columns that it named, renamed or left out, parts of values that a type cannot store, defaults that it stored as text. */
      warnings?: components['schemas']['Warning'][];
    };
    /** @description A column. Members that are absent stay as they are; a new column needs a type. */
    AlteredColumn: {
      /** @description Ignored: PostgreSQL numbers the columns. */
      id?: unknown;
      /**
       * @description Name of the column. 1 to 63 bytes of UTF-8, case-sensitive and used exactly as written.
       * @example amount
       */
      name: string;
      /**
       * @description A type of the connected PostgreSQL as it spells it, with modifiers and arrays (varchar(20), numeric(12,2), timestamptz, text[], enums, domains, extension types); serial, bigserial or smallserial for an identity column; or a friendly alias (string, datetime, double, number, blob, …). An alias is always the alias; a type of the database with its name, and the row type of a table, are written in quotes or with their schema.
       * @example numeric(12,2)
       * @example text
       * @example timestamptz
       */
      type?: string;
      /** @description Whether the column accepts NULL. Default: true. Columns of the primary key never accept it. */
      is_nullable?: boolean | null;
      /**
       * @description null: there is no default. '…' or '…'::type: an SQL literal. A call of an allowed function with literal arguments (now(), gen_random_uuid(), nextval('…')) or a keyword such as CURRENT_TIMESTAMP: that expression. Anything else: literal text in the input syntax of the column's type (0, true, pending, {}). A number or boolean means its JSON text.
       * @example now()
       * @example 0
       * @example pending
       * @example 1.5
       * @example true
       * @example null
       */
      default?: string | number | boolean | null;
      /**
       * @description A comment (COMMENT ON). Empty, null or absent: none.
       * @example Without VAT
       */
      comment?: string | null;
      sequence?: components['schemas']['Sequence'] | null;
      numbering?: components['schemas']['Numbering'] | null;
      /** @description always: the serial column is GENERATED ALWAYS AS IDENTITY, so rows cannot set its value. */
      identity?: 'always' | null;
      /**
       * @description The expression of a GENERATED ALWAYS AS (…) column, over other columns of this table. PostgreSQL computes its values.
       * @example net * 1.19
       */
      generated?: string | null;
      /** @description Whether the values of a generated column are `stored` (default), or computed when they are read: `virtual`, from PostgreSQL 18 on. */
      generated_kind?: ('stored' | 'virtual') | null;
      /** @description true: `default` is an SQL expression, such as `now() + interval '1 day'`, even if it has operators or other functions. */
      default_is_expression?: boolean;
      /**
       * @description The old name of the column. If there is no such column and one with the new name, the column was renamed before.
       * @example mail
       */
      renamed_from?: string | null;
    };
    /**
     * @description What the table becomes. Members that are absent stay as they are; `[]` and null remove.
     * @example {
     *       "columns": [
     *         {
     *           "name": "id",
     *           "type": "bigserial"
     *         },
     *         {
     *           "name": "email",
     *           "type": "text",
     *           "is_nullable": false
     *         },
     *         {
     *           "name": "joined_on",
     *           "type": "date"
     *         }
     *       ],
     *       "indexes": [
     *         {
     *           "columns": [
     *             {
     *               "column": "joined_on"
     *             }
     *           ]
     *         }
     *       ]
     *     }
     */
    AlteredTable: {
      /** @description Ignored: the path names the table. */
      name?: unknown;
      /** @description Ignored: the query names the schema. */
      schema?: unknown;
      /** @description All columns that the table has then. A column that is not listed is dropped. */
      columns?: components['schemas']['AlteredColumn'][];
      /**
       * @description A comment (COMMENT ON). Empty, null or absent: none.
       * @example One row for each order
       */
      comment?: string | null;
      /** @description true: the table is faster to write and empty after a crash of PostgreSQL, and it is on no standby (UNLOGGED). Default: false. */
      unlogged?: boolean | null;
      constraints?: components['schemas']['Constraints'] | null;
      /** @description The indexes besides those of the keys. They are made after the rows are loaded. */
      indexes?: components['schemas']['Index'][] | null;
      /** @description The enums and domains that the table needs, a domain after the types below it. Those that are missing in the schema of the table are made. */
      types?: (components['schemas']['EnumDefinition'] | components['schemas']['DomainDefinition'])[] | null;
      distribution?: components['schemas']['Distribution'] | null;
    };
    AlteredTableBody: {
      table: components['schemas']['AlteredTable'];
    };
    /** @description One change of a table. */
    TableChangeStep: {
      /** @enum {string} */
      change:
        | 'create-table'
        | 'rename-column'
        | 'drop-constraint'
        | 'drop-index'
        | 'rename-constraint'
        | 'rename-index'
        | 'set-logged'
        | 'set-unlogged'
        | 'drop-column'
        | 'add-column'
        | 'change-type'
        | 'change-identity'
        | 'drop-expression'
        | 'set-default'
        | 'drop-default'
        | 'set-not-null'
        | 'drop-not-null'
        | 'add-constraint'
        | 'validate-constraint'
        | 'add-index'
        | 'set-comment';
      /** @description The change in words. */
      detail: string;
      /** @description The statements of the change. */
      sql: string;
      /** @description PostgreSQL writes all rows anew. */
      rewrites: boolean;
      /** @description All rows are read, and some of them may be refused. */
      scans: boolean;
      /**
       * @description The lock of the table. Only ACCESS EXCLUSIVE makes readers wait.
       * @enum {string}
       */
      lock: 'SHARE UPDATE EXCLUSIVE' | 'SHARE' | 'SHARE ROW EXCLUSIVE' | 'ACCESS EXCLUSIVE';
      /** @description The value of `allow` that the change needs, because it loses something. */
      loses: ('drop_columns' | 'drop_constraints' | 'drop_indexes' | 'lossy_types') | null;
      /** @description The number of rows whose values were rounded or lost something. */
      rows?: number;
    };
    AlteredTableAnswer: {
      table: components['schemas']['TableDescription'];
      changes: components['schemas']['TableChangeStep'][];
    };
    /** @description What changes. Absent members stay. */
    TableChange: {
      /**
       * @description The new name of the table. 1 to 63 bytes of UTF-8, case-sensitive and used exactly as written.
       * @example orders
       */
      name?: string;
      /**
       * @description The new schema of the table. 1 to 63 bytes of UTF-8, case-sensitive and used exactly as written.
       * @example archive
       */
      schema?: string;
      /**
       * @description A comment (COMMENT ON). Empty, null or absent: none.
       * @example One row for each order
       */
      comment?: string | null;
    };
    RenamedTable: {
      table: components['schemas']['TableDescription'];
    };
    DescribedTable: {
      table: components['schemas']['TableDescription'];
    };
    NewWebhook: {
      /**
       * @description Where the events are sent: an https URL. An http URL is accepted only for an address in `WEBHOOK_PRIVATE_NETWORKS`.
       * @example https://example.com/hooks/tables
       */
      url: string;
      /** @description The types of the events. Default: all. */
      types?: (
        | 'table.created'
        | 'table.replaced'
        | 'table.emptied'
        | 'table.changed'
        | 'table.dropped'
        | 'rows.loaded'
        | 'load.refused'
        | 'load.failed'
      )[];
      /** @description The schemas whose events are sent: names, in which `*` means any characters. Default: all. Events of schemas that the token does not allow are never sent. */
      schemas?: string[];
    };
    CreatedWebhook: {
      /** Format: uuid */
      id: string;
      /** Format: uri */
      url: string;
      /** @description The types of the events that are sent. */
      types: string[];
      schemas: string[] | null;
      /** Format: date-time */
      created_at: string;
      disabled_at: string | null;
      /**
       * @description The secret with which the receiver checks signatures. Only this answer has it.
       * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
       */
      secret: string;
    };
    ListedWebhook: {
      /** Format: uuid */
      id: string;
      /** Format: uri */
      url: string;
      /** @description The types of the events that are sent. */
      types: string[];
      schemas: string[] | null;
      /** Format: date-time */
      created_at: string;
      disabled_at: string | null;
      /** @description true: so many deliveries wait that further events wait, too: 5,000, shared equally by the active webhooks of the subject. Events that wait for 7 days are not sent. */
      paused: boolean;
    };
    WebhookList: {
      webhooks: components['schemas']['ListedWebhook'][];
    };
    /** @description A table definition. With `extra_columns=add` it may have only constraints. */
    UploadDefinition: {
      /** @description Ignored: the path names the table. */
      name?: unknown;
      /** @description Ignored: the query names the schema. */
      schema?: unknown;
      /** @description The columns, in the order of the table. Required, unless `extra_columns=add` takes the columns from the rows. */
      columns?: components['schemas']['ColumnDefinition'][];
      /**
       * @description A comment (COMMENT ON). Empty, null or absent: none.
       * @example One row for each order
       */
      comment?: string | null;
      /** @description true: the table is faster to write and empty after a crash of PostgreSQL, and it is on no standby (UNLOGGED). Default: false. */
      unlogged?: boolean | null;
      constraints?: components['schemas']['Constraints'] | null;
      /** @description The indexes besides those of the keys. They are made after the rows are loaded. */
      indexes?: components['schemas']['Index'][] | null;
      /** @description The enums and domains that the table needs, a domain after the types below it. Those that are missing in the schema of the table are made. */
      types?: (components['schemas']['EnumDefinition'] | components['schemas']['DomainDefinition'])[] | null;
      distribution?: components['schemas']['Distribution'] | null;
    };
    ProfileContent: {
      /**
       * @description Upload parameters with their values, as in a query. All but `dry_run` and `profile`. Numbers and booleans become their texts. `table` names the table for which the profile is made: a page proposes it, and an upload takes the table from its path.
       * @example {
       *       "if_exists": "append",
       *       "on_conflict": "update",
       *       "rename": "Order no:order_no"
       *     }
       */
      parameters?: {
        [key: string]: string | boolean | number;
      };
      table?: components['schemas']['UploadDefinition'];
      /** @description The column names of the file for which the profile is made. The service keeps them, so that a page can offer the profile for the next file with this header. */
      headers?: string[];
    };
    Profile: {
      name: string;
      /** @description From 1. Each change makes a new version. */
      version: number;
      shared_with: string | null;
      /** @description Whether the subject of the token may change and delete it. */
      is_own: boolean;
      subject: string | null;
      /** @description The upload parameters, with their values as in a query. */
      parameters: {
        [key: string]: string;
      };
      headers: string[] | null;
      /**
       * Format: date-time
       * @description When the version was saved.
       */
      saved_at: string;
      table: components['schemas']['UploadDefinition'] | null;
    };
    ListedTable: {
      schema: string;
      name: string;
      /** @enum {string} */
      kind: 'table' | 'partitioned table';
      /** @description The number of rows as PostgreSQL last estimated it (VACUUM or ANALYZE). null: not yet, or the rows are on other nodes of Citus. */
      estimated_rows: number | null;
      /** @description The size on disk, with indexes, on all nodes. null: it cannot be found out now, because another session has locked the table, or a node of Citus does not answer. */
      bytes: number | null;
      /** @description The comment on the table. */
      comment: string | null;
      distribution?: components['schemas']['DistributionDescription'];
    };
    ListedTables: {
      /** @description Ordered by schema and name. */
      tables: components['schemas']['ListedTable'][];
      /** @description Send this as `after` to get the tables that follow. null: there are no more. */
      next: string | null;
    };
    ListedType: {
      /**
       * @description The name in `pg_type`, or the alias.
       * @example mood
       */
      name: string;
      /** @example sales */
      schema: string;
      /**
       * @description The name to send as the `type` of a column.
       * @example sales.mood
       */
      type: string;
      /** @enum {string} */
      kind: 'base' | 'enum' | 'domain' | 'range' | 'composite' | 'alias';
      /** @description The labels of an enum, in their order. Absent if there are more than 10000. */
      labels?: string[];
      /** @description The type of a domain or an alias, the type of the values of a range, or the ranges of a multirange. */
      base?: string;
      /** @description What the values of a domain must satisfy. Absent if it is too long. */
      check?: string;
      /** @description The extension that the type belongs to. */
      extension?: string;
    };
    ListedTypes: {
      /** @description Ordered by schema and name. */
      types: components['schemas']['ListedType'][];
      /** @description Send this as `after` to get the types that follow. null: there are no more. */
      next: string | null;
    };
    FirstRows: {
      /** @description The rows, as objects with a member for each column. Numbers have all their digits. Values of types that are not built into PostgreSQL are text. */
      rows: {
        [key: string]: unknown;
      }[];
      /** @description The values that are not whole, if there are any. A text or `bytea` of more than 1 MiB is cut to its first 1,000 characters or bytes. A value of another type that takes more than 256 KiB in PostgreSQL is null. If the first row would be longer than 16 MiB, these limits are 4 KiB and 256 bytes. */
      cut?: {
        /** @description The number of the row in `rows`, from 1. */
        row: number;
        column: string;
      }[];
      /** @description true: the table has more rows than this answer, because of `limit` or because an answer has at most 16 MiB of rows. */
      has_more: boolean;
      /** @description Send it as `after`, with the same `order`, to get the rows that follow. Absent: there are no more, or the rows have no order that tells them apart (a partitioned table, or one that others inherit from, without `order` or without a primary key; a value by which they are ordered is too long). */
      next?: string;
    };
    ListedLoad: {
      /** Format: uuid */
      id: string;
      /**
       * @description See docs/loads.md.
       * @enum {string}
       */
      state:
        | 'receiving'
        | 'queued'
        | 'running'
        | 'committed'
        | 'checked'
        | 'refused'
        | 'failed'
        | 'cancelled';
      /**
       * @example upload-json
       * @example upload-excel
       * @example load-tables
       */
      operation: string;
      /** @description The table; of several tables the first one. */
      table: {
        schema: string;
        name: string;
      };
      /** @description All tables of a load of several tables, in the order of its plan. */
      parts?: {
        schema: string;
        name: string;
        /** @description The name of its file. Absent: none was sent, or it has not arrived. */
        file?: string;
        /** @description The sheet that the plan names. */
        sheet?: string;
        /** @description The file in the zip file that the plan names. */
        file_in_zip?: string;
      }[];
      dry_run: boolean;
      subject: string | null;
      /** @description The profile that the upload named, with the version that it had when it was accepted. */
      profile?: {
        name: string;
        version: number;
        /** @description The schema of the profile. Absent: it was of the subject alone. */
        shared_with?: string;
      };
      file: string | null;
      /** @description The bytes of the body that have arrived. */
      bytes_received: number;
      bytes_expected: number | null;
      /** @description The rows that were read so far. */
      rows_read: number;
      /** @description The problems that were found so far. */
      problems_found: number;
      /** @description The number of stored rows with problems. `GET /api/v1/loads/{id}/faulty-rows` sends them as a file. */
      faulty_rows: number;
      /** @description Somebody has asked to cancel the load. */
      cancel_requested: boolean;
      /** Format: date-time */
      created_at: string;
      started_at: string | null;
      ended_at: string | null;
    };
    LoadList: {
      loads: components['schemas']['ListedLoad'][];
      /** @description Send it as `after` to get the next page. null: this is the last page. */
      next: string | null;
    };
    Correction: {
      /** @description The number of the data row, as `errors` name it. It needs `column`. */
      row?: number;
      /** @description Instead of `row`, the address of the cell: `B4` or `Orders!B4`. */
      cell?: string;
      /** @description The header or the key. */
      column?: string;
      /** @description A text, a number, true, false or null. */
      value: unknown;
    };
    /** @description A table, its file, and the parameters of its upload. */
    PlannedTable: {
      /**
       * @description The name of the table.
       * @example orders
       */
      table: string;
      /**
       * @description The name of the part of the form with the file, or with its link. Several tables may use the same file.
       * @example orders.csv
       */
      file: string;
      definition?: components['schemas']['UploadDefinition'];
      /** @description Corrections of cells, at most 1 MiB. Each replaces the value of its cell before anything else is done, and is read as if it stood in the file. `load.corrected` lists them. */
      patch?: components['schemas']['Correction'][];
      /**
       * @description The schema of the table.
       * @example public
       */
      schema?: string;
      /** @description For uploads without a definition: the columns of the primary key, separated by commas: `order_no,line`. An existing table must already have this key. Default: none. */
      primary_key?: string;
      /** @description New names for headers or keys: `Order no:order_no,Total:total`. In lists of names, write a backslash before a comma, colon or backslash. A header matches exactly or else ignoring case; a JSON key must match exactly. Default: none. */
      rename?: string;
      /**
       * @description Columns of the data that the table does not have. `fail`: 422. `ignore`: leave them out, also columns that PostgreSQL computes. `add`: add them to the table with inferred types.
       * @enum {string}
       */
      extra_columns?: 'fail' | 'ignore' | 'add';
      /** @description Columns that say where each row came from: `load_id:_load,source_row:_row`. `load_id`: the id of the load (`uuid`). `loaded_at`: when it began (`timestamptz`). `source_file`: the name of the file (`text`). `source_sheet`: its sheet (`text`). `source_row`: the row of the file, or the number of a JSON row (`bigint` or `integer`). Missing columns are added, which needs the scope `table:create`. Default: none. */
      provenance?: string;
      /**
       * @description What to do with an existing table. `fail`: 409. `append`: add the rows. `truncate`: empty it and load the rows; its definition, grants and views stay. `replace`: the new table replaces it and gets its owner, grants and comments, but not its keys.
       * @enum {string}
       */
      if_exists?: 'fail' | 'append' | 'truncate' | 'replace';
      /**
       * @description What to do if there is no such table. `create`: make it (scope `table:create`). `fail`: 404. It needs `if_exists=append`, `truncate` or `replace`.
       * @enum {string}
       */
      if_missing?: 'create' | 'fail';
      /**
       * @description What to do with a row whose key already exists, in the table or earlier in the upload. `fail`: 422. `skip`: the first row is kept. `update`: the existing row is updated; only columns of the upload change. A row without a value for the key is always inserted.
       * @enum {string}
       */
      on_conflict?: 'fail' | 'skip' | 'update';
      /** @description The columns of the primary key, unique constraint or unique index that `on_conflict` uses, separated by commas. Default: the primary key, or else the first unique constraint, if the data has all of its columns. */
      conflict_key?: string;
      /** @description Rows of the table that the upload does not have, by the key of `on_conflict`. `keep`: they stay, and `load.missing` counts them. `delete`: they are deleted. `mark:is_gone`: they get true in a boolean column, or the time of the load in a date or timestamp column, until they return. `delete` and `mark` need `if_exists=append`, `on_conflict=update` or `skip`, and the scope `table:replace`. Default: the rows stay, and are not counted. */
      missing_rows?: string;
      /** @description With `missing_rows=delete` or `mark`: how many rows may be missing, as a number or as a share of the rows that are compared: `500`, `10%` (in a URL `10%25`). If more are missing: 409. Default: `10%`. */
      max_missing_rows?: number | string;
      /** @description With `missing_rows`: only rows whose combination of values in these columns occurs in the upload can be missing: `region,month`. NULL equals NULL. Default: none, so all rows can be missing. */
      missing_within?: string;
      /**
       * @description What to do with rows that have a problem. `fail`: nothing is loaded. `leave_out`: they are left out, `load.left_out` lists their problems, and all others are loaded.
       * @enum {string}
       */
      faulty_rows?: 'fail' | 'leave_out';
      /** @description With `faulty_rows=leave_out`: how many rows may be left out, or a share of the rows such as `1%` (in a URL `1%25`). If more rows have problems, nothing is loaded. Default: 100. */
      max_faulty_rows?: number | string;
      /**
       * @description How texts become dates, numbers, times and booleans. `strict`: in the notation of PostgreSQL, or in the one that `date_order`, `decimal_sign` and `thousands_sign` name. `natural`: each column in the one notation that all of its values have: `17-Jan-94`, `€ 1.234,50`, `(80.50)`, `12 %` (0.12), `2:30 PM`, `Yes` and `No`. If several notations fit, the column stays text, and the warning `other-notation` offers them.
       * @enum {string}
       */
      values?: 'strict' | 'natural';
      /** @description Languages besides English, by their tags (BCP 47): `de,fr`. The names of their months and weekdays are read with `values=natural` or a `date_order`, their words for yes and no with `values=natural`. At most 10. Default: English only. */
      languages?: string;
      /** @description true: every column whose type would be inferred is `text`. */
      all_text?: boolean;
      /** @description Texts that mean NULL, separated by commas, case-sensitive: `N/A,-`. An empty item means the empty text. Write a backslash before a comma or backslash in a text. Default: none. */
      null_values?: string;
      /**
       * @description The order of day, month and year in dates such as `21/11/2026`, `21.11.26` or `11/21/2026, 2:30 PM`. Dates such as `2026-11-21` are read with every value. `iso`: only such dates.
       * @enum {string}
       */
      date_order?: 'iso' | 'dmy' | 'mdy' | 'ymd';
      /**
       * @description The sign before the decimals of a number: `1,5` needs `decimal_sign=,`.
       * @enum {string}
       */
      decimal_sign?: '.' | ',';
      /**
       * @description The sign between the thousands of a number: `1.234,50` needs `decimal_sign=,&thousands_sign=.`. `space` is also the narrow space and the no-break space. Groups have three digits, or two before the last three, as in India.
       * @enum {string}
       */
      thousands_sign?: 'none' | '.' | ',' | 'space' | "'";
      /** @description true: white space around a text is removed, including invisible and control characters. */
      trim?: boolean;
      /** @description The file that is read of a zip file that is no workbook: its name with its folder, as in `2026/orders.csv`. Default: the only file, or the only one with the extension of a table. */
      file_in_zip?: string;
      /** @description The name of the sheet, exactly or else ignoring case, or its number from 1. `auto`: the visible sheet with the largest table, with a warning that says why. Default: the first visible sheet. */
      sheet?: string;
      /** @description The row of the sheet with the column names, from 1. `auto`: the row or rows that look most like a header, or none if the first row has values; only this table is read, and a warning says why. Default: the first row that has a value. */
      header_row?: number | 'auto';
      /** @description The number of header rows, from `header_row` on. Their texts are joined for each column: `Population 2020` above `male` is `Population 2020 male`. */
      header_rows?: number;
      /** @description false: the first row is data, and the columns are named `column_A`, `column_B`, … */
      header?: boolean;
      /** @description Load only these cells: `B3:F200`, `B:F`, or `B3:F` (all rows from 3 on). The first row is the header. Default: all cells. */
      range?: string;
      /** @description Only these cells: the name of an Excel table or of a range of cells (a defined name), or the cells themselves with their sheet, as in `'Sales Data'!B4:F20`. The totals row of a table is left out. Not with `range`. Default: all cells. */
      table_range?: string;
      /**
       * @description Hidden rows and columns, also rows that a filter hides. `read`: with a warning. `skip`: they are left out.
       * @enum {string}
       */
      hidden?: 'read' | 'skip';
      /**
       * @description The rows below the first empty row after the data began. `skip`: they are left out, with a warning.
       * @enum {string}
       */
      footer?: 'read' | 'skip';
      /** @description The columns in which an empty cell takes the value above it, separated by commas: `region,year`. The names are those of the header, before `rename`. At most 10, and a repeated value has at most 1,000 bytes. Default: none. */
      fill_down?: string;
      /**
       * @description How headers become names. `exact`: without outer space. `snake_case`: `Site no` becomes `site_no`.
       * @enum {string}
       */
      column_names?: 'exact' | 'snake_case';
      /**
       * @description Error cells (`#N/A`), formulas without a stored result, and numbers with a date format that are not a day in the calendar. `fail`: they are problems. `null`: they are NULL, with a warning for each column.
       * @enum {string}
       */
      cell_errors?: 'fail' | 'null';
      /**
       * @description What an empty cell means. `default`: the row has no value, so the column takes its default, and an update (`on_conflict=update`) does not change it. `null`: NULL, also in place of a default, and an update clears the column.
       * @enum {string}
       */
      empty_cells?: 'default' | 'null';
      /** @description For text files: the separator of fields, one ASCII character that is not a letter, digit or quote, or `tab` or `space`. Default: detected among `,`, `;`, `tab`, `|`, `#` and `space`, or the separator that a first line such as `sep=;` names. */
      delimiter?: string;
      /**
       * @description For text files: the quotation mark around fields. `none`: quotation marks are text. Default: `"`, or `'` if the first lines clearly have it around fields.
       * @enum {string}
       */
      quote?: '"' | "'" | 'none';
      /**
       * @description For text files: quotation marks that are not doubled in a quoted field, or single at its beginning. `repair`: they are read as text, with a warning, if only one reading gives the row and the next one as many fields as the header has. `strict`: each is a problem.
       * @enum {string}
       */
      quotes?: 'repair' | 'strict';
      /**
       * @description For text files: `\` (in a URL `%5C`) if programs have written a backslash before quotation marks and backslashes within quoted fields, as MySQL and Spark do. `none`: backslashes are text. Default: `\` if the first lines clearly use it, or else `none`.
       * @enum {string}
       */
      escape?: '\\' | 'none';
      /**
       * @description For text files: what values in quotes are. `any`: the same as without quotes. `text`: numbers, `true` and `false` in quotes are text, as in JSON. `exact`: as in exports and files of `COPY`, an empty field in quotes is the empty text, blank texts make a row, `="7"` is a text, and only `"` is a quotation mark unless `quote` is sent.
       * @enum {string}
       */
      quoted?: 'any' | 'text' | 'exact';
      /** @description For text files: the encoding, by any label of the WHATWG Encoding Standard, such as `windows-1250`, `shift_jis` or `gbk`. There, `latin1` and `iso-8859-1` mean `windows-1252`. Default: detected among UTF-8, UTF-16, encodings of alphabets other than Latin if their letters show them, and Windows-1252. */
      encoding?: string;
      /** @description For text files: lines that begin with this ASCII character, such as `#`, are left out. Default: none. */
      comment?: string;
    };
    LoadPlan: {
      tables: components['schemas']['PlannedTable'][];
    };
    /** @description A form. Its first part is `plan`; each other part is a file, with the name by which the plan names it, or a field `{"from_url": "https://…"}` with its link, as the part `source` of an upload. */
    PlanUpload: {
      plan: components['schemas']['LoadPlan'];
      /**
       * Format: password
       * @description The password of an encrypted workbook: .xlsx, .xlsm and .xlsb with agile or standard encryption, .xls with RC4. It has no effect on other files. Send it before `file`. The service does not record it.
       */
      password?: string;
    } & {
      [key: string]: string;
    };
    LoadedTables: {
      load: {
        /**
         * Format: uuid
         * @description The id of the load, for `GET /api/v1/loads/{id}`. It is also in the header `Load-Id`. Absent if the service records no loads.
         */
        id?: string;
        /** @description Rows loaded. */
        rows: number;
        /** @description The duration of the load in milliseconds. */
        duration_ms: number;
        /** @description true: nothing was changed. */
        dry_run?: boolean;
      };
      tables: {
        /** @description The number of the table in the plan, from 1. */
        part: number;
        /** @description The part of the form with its file. */
        file: string;
        /**
         * @description What happened to the table. `loaded`: rows were added to the existing table.
         * @enum {string}
         */
        change: 'created' | 'replaced' | 'emptied' | 'loaded';
        table: components['schemas']['TableDescription'];
        load: {
          /** @description Rows loaded. */
          rows: number;
          /** @description The profile that the upload named, with the version that it had when it was accepted. */
          profile?: {
            name: string;
            version: number;
            /** @description The schema of the profile. Absent: it was of the subject alone. */
            shared_with?: string;
          };
          /** @description Rows left out because their key already exists (`on_conflict=skip`). */
          skipped: number;
          /** @description Rows whose key already exists (`on_conflict=update`): `changed` and `unchanged` together. */
          updated: number;
          /** @description Rows added: the same number as `rows`. */
          inserted: number;
          /** @description Existing rows that got other values. */
          changed: number;
          /** @description Rows that changed nothing: the existing row has the same values and is not written, or a later row of the upload has the same key. */
          unchanged: number;
          /** @description Rows of the table that the upload does not have. Present if `missing_rows` was sent and the rows could be compared. */
          missing?: number;
          /** @description Missing rows that were deleted (`missing_rows=delete`). */
          deleted?: number;
          /** @description Missing rows that were marked (`missing_rows=mark:…`). */
          marked?: number;
          /** @description Marked rows that the upload has again. Absent: none. */
          unmarked?: number;
          /** @description Rows that were left out because they have problems (`faulty_rows=leave_out`). */
          rows_left_out?: number;
          /** @description The first 100 problems of the rows that were left out. */
          left_out?: components['schemas']['Problem'][];
          /** @description The number of all problems of the rows that were left out, including those not listed. A row may have several. */
          left_out_count?: number;
          /** @description The number of the rows that were left out in the file of `GET /api/v1/loads/{id}/faulty-rows`. Absent: there is no such file. */
          faulty_rows?: number;
          /** @description All problems of the data, grouped by column and code. The largest group comes first. Absent if no two problems have the same column and code. */
          error_groups?: {
            /** @description In a load of several tables: the number of the table in the plan, from 1. */
            part?: number;
            column?: string;
            code: string;
            /** @description The number of problems with this code in this column. */
            count: number;
            /** @description The place and the value of the first problem. */
            first: {
              pointer?: string;
              line?: number;
              sheet?: string;
              cell?: string;
              row?: number;
              value?: string;
            };
          }[];
          /** @description The first corrected cells (`patch`). */
          corrected?: {
            /** @description For JSON: the JSON Pointer of the value. */
            pointer?: string;
            /** @description For newline-delimited JSON: the line. */
            line?: number;
            /** @description For spreadsheets: the cell, `Orders!C1483`. */
            cell?: string;
            /** @description The number of the data row, from 1. */
            row: number;
            /** @description The header or the key. */
            column: string;
            /** @description The value that was sent, shortened. */
            from: string | null;
            /** @description The value that counts, shortened. */
            to: string | null;
          }[];
          /** @description The number of all corrected cells. */
          corrected_count?: number;
          /** @description The columns that got wider types (`misfits`). Absent if there are none. */
          widened?: {
            column: string;
            /** @description The type before the load. */
            from: string;
            /** @description The type that the column has now. */
            to: string;
          }[];
          /** @description The columns of the key by which rows were compared (`on_conflict=skip` or `update`). Empty: the data has no complete key. */
          conflict_key?: string[];
          /** @description The format in which the rows were read: `json`, `ndjson`, or the format of the file. */
          format: string;
          /** @description The file that was read of the zip file that was sent. */
          file_in_zip?: string;
          /** @description For text files: the character between the fields. */
          delimiter?: string;
          /** @description For text files: the encoding in which the file was read. */
          encoding?: string;
          /** @description The sheet that was read. */
          sheet?: string;
          /** @description The row of the sheet with the column names, from 1. */
          header_row?: number;
          /** @description The number of rows of the header, if there are several. */
          header_rows?: number;
          /** @description The cells that were read, from the header to the last row with a value: `A3:F200`. */
          range?: string;
          /** @description Decisions of the service that you should check: columns that it named, renamed or left out, parts of values that a type cannot store, defaults that it stored as text. */
          warnings: components['schemas']['Warning'][];
        };
      }[];
    };
    /** @description The answer of the upload, after the load has ended. null: nobody was left to be answered. */
    LoadAnswer: {
      /** @description The HTTP status. */
      status: number;
      headers: {
        [key: string]: string;
      };
      /** @description The body as JSON, or as text if it is none. null: it was longer than 1 MiB and was not kept. */
      body: unknown;
    };
    Load: {
      /** Format: uuid */
      id: string;
      /**
       * @description See docs/loads.md.
       * @enum {string}
       */
      state:
        | 'receiving'
        | 'queued'
        | 'running'
        | 'committed'
        | 'checked'
        | 'refused'
        | 'failed'
        | 'cancelled';
      /**
       * @example upload-json
       * @example upload-excel
       * @example load-tables
       */
      operation: string;
      /** @description The table; of several tables the first one. */
      table: {
        schema: string;
        name: string;
      };
      /** @description All tables of a load of several tables, in the order of its plan. */
      parts?: {
        schema: string;
        name: string;
        /** @description The name of its file. Absent: none was sent, or it has not arrived. */
        file?: string;
        /** @description The sheet that the plan names. */
        sheet?: string;
        /** @description The file in the zip file that the plan names. */
        file_in_zip?: string;
      }[];
      dry_run: boolean;
      subject: string | null;
      /** @description The profile that the upload named, with the version that it had when it was accepted. */
      profile?: {
        name: string;
        version: number;
        /** @description The schema of the profile. Absent: it was of the subject alone. */
        shared_with?: string;
      };
      file: string | null;
      /** @description The bytes of the body that have arrived. */
      bytes_received: number;
      bytes_expected: number | null;
      /** @description The rows that were read so far. */
      rows_read: number;
      /** @description The problems that were found so far. */
      problems_found: number;
      /** @description The number of stored rows with problems. `GET /api/v1/loads/{id}/faulty-rows` sends them as a file. */
      faulty_rows: number;
      /** @description Somebody has asked to cancel the load. */
      cancel_requested: boolean;
      /** Format: date-time */
      created_at: string;
      started_at: string | null;
      ended_at: string | null;
      /** @description The parameters of the request, with those of its profile. Absent: they are not known. */
      parameters?: {
        [key: string]: unknown;
      };
      answer?: components['schemas']['LoadAnswer'] | null;
    };
    LoadProblems: {
      /** Format: uuid */
      load: string;
      /**
       * @description The state of the load. Lists are stored when the load ends.
       * @enum {string}
       */
      state:
        | 'receiving'
        | 'queued'
        | 'running'
        | 'committed'
        | 'checked'
        | 'refused'
        | 'failed'
        | 'cancelled';
      /** @description The number of all problems that were found, also of those that are not stored. */
      problems_found: number;
      /** @description The number of stored problems. */
      problems_stored: number;
      next: number | null;
      /** @description The problems of the page, in the order of the rows. */
      problems: components['schemas']['Problem'][];
    };
    ChangeCounts: {
      /** @description Rows that the table did not have. */
      inserted: number;
      /** @description Rows that changed a row of the table. */
      changed: number;
      /** @description Rows that were equal to a row of the table. */
      unchanged: number;
      /** @description Rows of the table that the upload does not have. Present if `missing_rows` was sent and the rows could be compared. */
      missing?: number;
      /** @description Missing rows that were deleted (`missing_rows=delete`). */
      deleted?: number;
      /** @description Missing rows that were marked (`missing_rows=mark:…`). */
      marked?: number;
      /** @description Marked rows that the upload has again. Absent: none. */
      unmarked?: number;
    };
    RowChange: {
      /**
       * @description `missing`, `deleted` and `marked`: a row of the table that the upload does not have, and what was done with it.
       * @enum {string}
       */
      kind: 'inserted' | 'changed' | 'missing' | 'deleted' | 'marked';
      /** @description The data row of the upload, from 1. */
      row?: number;
      /** @description The values of the key by which rows were compared, by column. */
      key: {
        [key: string]: string | null;
      };
      /** @description The cells that differ, or the cells of an inserted row. */
      cells: {
        column: string;
        old?: string | null;
        new?: string | null;
      }[];
    };
    LoadChanges: {
      /** Format: uuid */
      load: string;
      /**
       * @description The state of the load. Lists are stored when the load ends.
       * @enum {string}
       */
      state:
        | 'receiving'
        | 'queued'
        | 'running'
        | 'committed'
        | 'checked'
        | 'refused'
        | 'failed'
        | 'cancelled';
      counts: components['schemas']['ChangeCounts'] | null;
      /**
       * @description `own`: without the old values of the table, because the token or its role may not read them. `none`: the load is of another subject, so only counts are shown.
       * @enum {string}
       */
      values: 'all' | 'own' | 'none';
      /** @description The number of stored changes. */
      changes_stored: number;
      next: number | null;
      /** @description The changes of the page. */
      changes: components['schemas']['RowChange'][];
    };
    Webhook: {
      /** Format: uuid */
      id: string;
      /** Format: uri */
      url: string;
      /** @description The types of the events that are sent. */
      types: string[];
      schemas: string[] | null;
      /** Format: date-time */
      created_at: string;
      disabled_at: string | null;
    };
    Delivery: {
      /**
       * Format: uuid
       * @description The id of the event.
       */
      event: string;
      /** @description The type of the event. */
      type: string;
      /**
       * @description pending: there will be an attempt. dead: there will be no further attempt.
       * @enum {string}
       */
      state: 'pending' | 'delivered' | 'dead';
      attempts: number;
      status: number | null;
      error: string | null;
      /** Format: date-time */
      created_at: string;
      next_at: string | null;
      ended_at: string | null;
    };
    DeliveryList: {
      deliveries: components['schemas']['Delivery'][];
    };
    Ping: {
      /**
       * Format: uuid
       * @description The id of the event.
       */
      event: string;
    };
    ListedProfile: {
      name: string;
      /** @description From 1. Each change makes a new version. */
      version: number;
      shared_with: string | null;
      /** @description Whether the subject of the token may change and delete it. */
      is_own: boolean;
      subject: string | null;
      /** @description The upload parameters, with their values as in a query. */
      parameters: {
        [key: string]: string;
      };
      headers: string[] | null;
      /**
       * Format: date-time
       * @description When the version was saved.
       */
      saved_at: string;
      has_table: boolean;
    };
    ProfileList: {
      profiles: components['schemas']['ListedProfile'][];
      next: string | null;
    };
    /**
     * @example {
     *       "data": [
     *         {
     *           "sku": "00042",
     *           "name": "Möhre",
     *           "price": 1.1,
     *           "in_stock": true,
     *           "added": "2026-11-21"
     *         }
     *       ]
     *     }
     */
    JsonUpload: {
      table?: components['schemas']['UploadDefinition'];
      /** @description Corrections of cells, at most 1 MiB. Each replaces the value of its cell before anything else is done, and is read as if it stood in the file. `load.corrected` lists them. */
      patch?: components['schemas']['Correction'][];
      /** @description The rows. Keys are column names; a missing key takes the default of the column; `null` is NULL; numbers keep every digit. */
      data?: {
        [key: string]: unknown;
      }[];
    };
    LoadedTable: {
      table: components['schemas']['TableDescription'];
      load: {
        /**
         * Format: uuid
         * @description The id of the load, for `GET /api/v1/loads/{id}`. It is also in the header `Load-Id`. Absent if the service records no loads.
         */
        id?: string;
        /** @description The profile that the upload named, with the version that it had when it was accepted. */
        profile?: {
          name: string;
          version: number;
          /** @description The schema of the profile. Absent: it was of the subject alone. */
          shared_with?: string;
        };
        /** @description Rows loaded. */
        rows: number;
        /** @description Rows left out because their key already exists (`on_conflict=skip`). */
        skipped: number;
        /** @description Rows whose key already exists (`on_conflict=update`): `changed` and `unchanged` together. */
        updated: number;
        /** @description Rows added: the same number as `rows`. */
        inserted: number;
        /** @description Existing rows that got other values. */
        changed: number;
        /** @description Rows that changed nothing: the existing row has the same values and is not written, or a later row of the upload has the same key. */
        unchanged: number;
        /** @description Rows of the table that the upload does not have. Present if `missing_rows` was sent and the rows could be compared. */
        missing?: number;
        /** @description Missing rows that were deleted (`missing_rows=delete`). */
        deleted?: number;
        /** @description Missing rows that were marked (`missing_rows=mark:…`). */
        marked?: number;
        /** @description Marked rows that the upload has again. Absent: none. */
        unmarked?: number;
        /** @description Rows that were left out because they have problems (`faulty_rows=leave_out`). */
        rows_left_out?: number;
        /** @description The first 100 problems of the rows that were left out. */
        left_out?: components['schemas']['Problem'][];
        /** @description The number of all problems of the rows that were left out, including those not listed. A row may have several. */
        left_out_count?: number;
        /** @description The number of the rows that were left out in the file of `GET /api/v1/loads/{id}/faulty-rows`. Absent: there is no such file. */
        faulty_rows?: number;
        /** @description All problems of the data, grouped by column and code. The largest group comes first. Absent if no two problems have the same column and code. */
        error_groups?: {
          /** @description In a load of several tables: the number of the table in the plan, from 1. */
          part?: number;
          column?: string;
          code: string;
          /** @description The number of problems with this code in this column. */
          count: number;
          /** @description The place and the value of the first problem. */
          first: {
            pointer?: string;
            line?: number;
            sheet?: string;
            cell?: string;
            row?: number;
            value?: string;
          };
        }[];
        /** @description The first corrected cells (`patch`). */
        corrected?: {
          /** @description For JSON: the JSON Pointer of the value. */
          pointer?: string;
          /** @description For newline-delimited JSON: the line. */
          line?: number;
          /** @description For spreadsheets: the cell, `Orders!C1483`. */
          cell?: string;
          /** @description The number of the data row, from 1. */
          row: number;
          /** @description The header or the key. */
          column: string;
          /** @description The value that was sent, shortened. */
          from: string | null;
          /** @description The value that counts, shortened. */
          to: string | null;
        }[];
        /** @description The number of all corrected cells. */
        corrected_count?: number;
        /** @description The columns that got wider types (`misfits`). Absent if there are none. */
        widened?: {
          column: string;
          /** @description The type before the load. */
          from: string;
          /** @description The type that the column has now. */
          to: string;
        }[];
        /** @description The columns of the key by which rows were compared (`on_conflict=skip` or `update`). Empty: the data has no complete key. */
        conflict_key?: string[];
        /** @description The format in which the rows were read: `json`, `ndjson`, or the format of the file. */
        format: string;
        /** @description The file that was read of the zip file that was sent. */
        file_in_zip?: string;
        /** @description For text files: the character between the fields. */
        delimiter?: string;
        /** @description For text files: the encoding in which the file was read. */
        encoding?: string;
        /** @description The sheet that was read. */
        sheet?: string;
        /** @description The row of the sheet with the column names, from 1. */
        header_row?: number;
        /** @description The number of rows of the header, if there are several. */
        header_rows?: number;
        /** @description The cells that were read, from the header to the last row with a value: `A3:F200`. */
        range?: string;
        /** @description Decisions of the service that you should check: columns that it named, renamed or left out, parts of values that a type cannot store, defaults that it stored as text. */
        warnings: components['schemas']['Warning'][];
        /** @description The duration of the load in milliseconds. */
        duration_ms: number;
        /** @description true: nothing was changed. */
        dry_run?: boolean;
      };
    };
    InspectedJson: {
      /** @enum {string} */
      format: 'json' | 'ndjson';
      /** @description The arrays in the document in which most elements are objects. The array with the most elements comes first. Arrays inside the elements of another array are listed only for its first element. */
      arrays: {
        /** @description The JSON Pointer of the array, for the parameter `rows_at`. */
        rows_at: string;
        /** @description Its elements. */
        rows: number;
      }[];
      /** @description The rows that would be loaded. If the document is neither `{"data": […]}` nor an array, and `rows_at` was not sent: the first of `arrays`, with the warning `rows-elsewhere`. */
      data: {
        /** @description The JSON Pointer of the rows. Absent if each line is a row. */
        rows_at?: string;
        /** @description The number of all rows. */
        row_count: number;
        /** @description The keys of the rows, in the order of their first appearance. */
        header: string[];
        /** @description The definition that would be inferred from all rows. You can send it as `table`, changed or unchanged. */
        definition: {
          columns: {
            name: string;
            type: string;
          }[];
        };
        /** @description The first 20 rows as text, objects and arrays as their JSON; null is a missing value or `null`. */
        rows: (string | null)[][];
        /** @description How many values the columns have, in the order of `header`. */
        columns: {
          name: string;
          /** @description The column of the sheet: `A`. */
          letters?: string;
          /** @description The number of rows that have a value in this column. */
          values: number;
          /** @description The number of rows that have none. */
          empty: number;
        }[];
        /** @description Rows and values that a load would refuse. */
        errors: components['schemas']['Problem'][];
        error_count: number;
        /** @description Decisions of the service that you should check: columns that it named, renamed or left out, parts of values that a type cannot store, defaults that it stored as text. */
        warnings: components['schemas']['Warning'][];
      };
    };
    ExcelUpload: {
      /**
       * Format: password
       * @description The password of an encrypted workbook: .xlsx, .xlsm and .xlsb with agile or standard encryption, .xls with RC4. It has no effect on other files. Send it before `file`. The service does not record it.
       */
      password?: string;
      /** @description Corrections of cells, at most 1 MiB. Each replaces the value of its cell before anything else is done, and is read as if it stood in the file. `load.corrected` lists them. */
      patch?: components['schemas']['Correction'][];
      /**
       * Format: binary
       * @description A spreadsheet or a text file (.ods, .xlsx, .xlsm, .xlsb, .xls, .parquet, .csv, .tsv). It is required unless `source` is sent. It is recognized by its content; its name matters only for `provenance`. It may be packed (.gz, .zst, .br, .zip).
       */
      file?: string;
      /** @description Instead of `file`, the link of a file that the service fetches: an https URL without user name and password, such as a presigned one. It needs the scope `load:from-url`. Answers, records and logs show only its host and the name of the file. */
      source?: {
        /** Format: uri */
        from_url: string;
      };
      /**
       * @description The definition, as JSON: `{"table": {"columns": [{"name": "Order no", "type": "text"}, …]}}`, as for Create Table. If it is missing (`{}`, or no part `body`), the types are inferred from all rows.
       * @example {}
       */
      body?: {
        table?: components['schemas']['UploadDefinition'];
      };
    };
    ExcelInspection: {
      /**
       * Format: password
       * @description The password of an encrypted workbook: .xlsx, .xlsm and .xlsb with agile or standard encryption, .xls with RC4. It has no effect on other files. Send it before `file`. The service does not record it.
       */
      password?: string;
      /** @description Corrections of cells, at most 1 MiB. Each replaces the value of its cell before anything else is done, and is read as if it stood in the file. `load.corrected` lists them. */
      patch?: components['schemas']['Correction'][];
      /**
       * Format: binary
       * @description A spreadsheet or a text file (.ods, .xlsx, .xlsm, .xlsb, .xls, .parquet, .csv, .tsv). It is required unless `source` is sent. It is recognized by its content; its name matters only for `provenance`. It may be packed (.gz, .zst, .br, .zip).
       */
      file?: string;
      /** @description Instead of `file`, the link of a file that the service fetches: an https URL without user name and password, such as a presigned one. It needs the scope `load:from-url`. Answers, records and logs show only its host and the name of the file. */
      source?: {
        /** Format: uri */
        from_url: string;
      };
    };
    InspectedSpreadsheet: {
      /** @description The file that was read of the zip file that was sent. */
      file_in_zip?: string;
      sheets: {
        name: string;
        /** @enum {string} */
        visibility: 'visible' | 'hidden' | 'veryHidden';
        /** @description The number of rows below the header that have a value. */
        rows: number;
        columns: number;
        /** @description The table of this sheet. Absent if the sheet cannot be read. */
        proposal?: {
          /** @description The row that looks most like a header. Absent if no row does. `header_row=auto` takes it. */
          header_row?: number;
          /** @description The number of rows of the header from `header_row` on, if there are several. */
          header_rows?: number;
          /** @description The cells of the table, from its header to its last row, as in `A4:F40`. */
          range?: string;
          /** @description Why this table, or why none, in words. */
          reasons: string[];
          /** @description Other cells of the sheet that look like a table. */
          other_tables: {
            /** @description The row that looks most like a header. Absent if no row does. `header_row=auto` takes it. */
            header_row?: number;
            /** @description The number of rows of the header from `header_row` on, if there are several. */
            header_rows?: number;
            /** @description The cells of the table, from its header to its last row, as in `A4:F40`. */
            range?: string;
          }[];
        };
        /** @description Why a load of this sheet would be refused, for example because of too many columns. Rows and columns are then counted up to that place. */
        problem?: {
          code: string;
          detail: string;
        };
      }[];
      /** @description The cells of the file that look most like a table. */
      proposal: {
        /** @description The visible sheet with the largest table. `sheet=auto` takes it. */
        sheet?: string;
        /** @description The row that looks most like a header. Absent if no row does. `header_row=auto` takes it. */
        header_row?: number;
        /** @description The number of rows of the header from `header_row` on, if there are several. */
        header_rows?: number;
        /** @description The cells of the table, from its header to its last row, as in `A4:F40`. */
        range?: string;
        /** @description Why this table, or why none, in words. */
        reasons: string[];
        /** @description Other cells of the sheet that look like a table. */
        other_tables: {
          /** @description The row that looks most like a header. Absent if no row does. `header_row=auto` takes it. */
          header_row?: number;
          /** @description The number of rows of the header from `header_row` on, if there are several. */
          header_rows?: number;
          /** @description The cells of the table, from its header to its last row, as in `A4:F40`. */
          range?: string;
        }[];
      };
      /** @description The tables and defined names that refer to one range of cells. */
      names: {
        /** @description Send it as `table_range`. */
        name: string;
        /**
         * @description `table`: an Excel table, or a database range of OpenDocument. `name`: a defined name (named range).
         * @enum {string}
         */
        kind: 'table' | 'name';
        /** @description The sheet to which the name is local. Absent: the name is valid in the whole workbook. */
        scope?: string;
        sheet: string;
        /** @description The cells: `A3:F200`. Of a table with the header row and without the totals row. */
        range: string;
        /** @description The columns. Empty: a table without a header row. Absent: the header is not near the beginning of the sheet, or of more than 50 defined names. */
        header?: string[];
      }[];
      /** @description The number of all such names. */
      name_count: number;
      /** @description The chosen sheet. */
      sheet: {
        name: string;
        /** @description The row that was read as the header. */
        header_row?: number;
        /** @description The number of rows of the header, if there are several. */
        header_rows?: number;
        /** @description The cells that were read, from the header to the last row with a value. */
        range?: string;
        header: string[];
        /** @description The definition that would be inferred from all rows. You can send it as `table`, changed or unchanged. */
        definition: {
          columns: {
            name: string;
            type: string;
          }[];
        };
        /** @description The first 20 rows as text; null is a blank cell. */
        rows: (string | null)[][];
        /** @description For each of `rows`: its number in the sheet. */
        row_numbers?: number[];
        /** @description How many values the columns have, in the order of `header`. */
        columns: {
          name: string;
          /** @description The column of the sheet: `A`. */
          letters?: string;
          /** @description The number of rows that have a value in this column. */
          values: number;
          /** @description The number of rows that have none. */
          empty: number;
        }[];
        /** @description Cells that a load would refuse. */
        errors: components['schemas']['Problem'][];
        error_count: number;
        /** @description Decisions of the service that you should check: columns that it named, renamed or left out, parts of values that a type cannot store, defaults that it stored as text. */
        warnings: components['schemas']['Warning'][];
      };
    };
    /** @description A table was created. A CloudEvent (1.0). */
    TableCreatedEvent: {
      /** @constant */
      specversion: '1.0';
      /** Format: uuid */
      id: string;
      /**
       * Format: uri-reference
       * @description The URL of the table, relative to the service.
       */
      source: string;
      /** @constant */
      type: 'table.created';
      /** Format: date-time */
      time: string;
      /** @constant */
      datacontenttype: 'application/json';
      data: {
        schema: string;
        table: string;
        /**
         * Format: uuid
         * @description The id of the load. Absent after Create Table.
         */
        load?: string;
        distribution?: components['schemas']['DistributionDescription'];
      };
    };
    /** @description An upload replaced a table. A CloudEvent (1.0). */
    TableReplacedEvent: {
      /** @constant */
      specversion: '1.0';
      /** Format: uuid */
      id: string;
      /**
       * Format: uri-reference
       * @description The URL of the table, relative to the service.
       */
      source: string;
      /** @constant */
      type: 'table.replaced';
      /** Format: date-time */
      time: string;
      /** @constant */
      datacontenttype: 'application/json';
      data: {
        schema: string;
        table: string;
        /**
         * Format: uuid
         * @description The id of the load. Absent after Create Table.
         */
        load?: string;
        distribution?: components['schemas']['DistributionDescription'];
      };
    };
    /** @description An upload emptied a table. A CloudEvent (1.0). */
    TableEmptiedEvent: {
      /** @constant */
      specversion: '1.0';
      /** Format: uuid */
      id: string;
      /**
       * Format: uri-reference
       * @description The URL of the table, relative to the service.
       */
      source: string;
      /** @constant */
      type: 'table.emptied';
      /** Format: date-time */
      time: string;
      /** @constant */
      datacontenttype: 'application/json';
      data: {
        schema: string;
        table: string;
        /**
         * Format: uuid
         * @description The id of the load. Absent after Create Table.
         */
        load?: string;
        distribution?: components['schemas']['DistributionDescription'];
      };
    };
    /** @description A table got another name, schema or comment. A CloudEvent (1.0). */
    TableChangedEvent: {
      /** @constant */
      specversion: '1.0';
      /** Format: uuid */
      id: string;
      /**
       * Format: uri-reference
       * @description The URL of the table, relative to the service.
       */
      source: string;
      /** @constant */
      type: 'table.changed';
      /** Format: date-time */
      time: string;
      /** @constant */
      datacontenttype: 'application/json';
      data: {
        schema: string;
        table: string;
        /** @description The name that it had, if the token allows that schema. */
        renamed_from?: {
          schema: string;
          table: string;
        };
        /** @description The name that it has now, in an event about the schema that it had, if the token allows the new schema. */
        renamed_to?: {
          schema: string;
          table: string;
        };
      };
    };
    /** @description A table was dropped. A CloudEvent (1.0). */
    TableDroppedEvent: {
      /** @constant */
      specversion: '1.0';
      /** Format: uuid */
      id: string;
      /**
       * Format: uri-reference
       * @description The URL of the table, relative to the service.
       */
      source: string;
      /** @constant */
      type: 'table.dropped';
      /** Format: date-time */
      time: string;
      /** @constant */
      datacontenttype: 'application/json';
      data: {
        schema: string;
        table: string;
      };
    };
    /** @description An upload added or updated rows. A CloudEvent (1.0). */
    RowsLoadedEvent: {
      /** @constant */
      specversion: '1.0';
      /** Format: uuid */
      id: string;
      /**
       * Format: uri-reference
       * @description The URL of the table, relative to the service.
       */
      source: string;
      /** @constant */
      type: 'rows.loaded';
      /** Format: date-time */
      time: string;
      /** @constant */
      datacontenttype: 'application/json';
      data: {
        schema: string;
        table: string;
        /**
         * Format: uuid
         * @description The id of the load. Absent after Create Table.
         */
        load?: string;
        distribution?: components['schemas']['DistributionDescription'];
        /** @description The rows that were added. */
        rows: number;
        /** @description The same number as `rows`. */
        inserted: number;
        /** @description `changed` and `unchanged` together. */
        updated: number;
        /** @description The existing rows that got other values. */
        changed: number;
        /** @description The rows that changed nothing (`on_conflict=update`). */
        unchanged: number;
        /** @description The rows that were skipped, because their keys already existed. */
        skipped: number;
        /** @description Rows of the table that the upload does not have. Present if `missing_rows` was sent and the rows could be compared. */
        missing?: number;
        /** @description Missing rows that were deleted (`missing_rows=delete`). */
        deleted?: number;
        /** @description Missing rows that were marked (`missing_rows=mark:…`). */
        marked?: number;
        /** @description Marked rows that the upload has again. Absent: none. */
        unmarked?: number;
        /** @description The rows that were left out, because they had problems (`faulty_rows`). */
        rows_left_out: number;
        /** @description The columns that got wider types (`misfits`). Absent if there are none. */
        widened?: {
          column: string;
          /** @description The type before the load. */
          from: string;
          /** @description The type that the column has now. */
          to: string;
        }[];
      };
    };
    /** @description An upload was refused; nothing was changed. A CloudEvent (1.0). */
    LoadRefusedEvent: {
      /** @constant */
      specversion: '1.0';
      /** Format: uuid */
      id: string;
      /**
       * Format: uri-reference
       * @description The URL of the table, relative to the service.
       */
      source: string;
      /** @constant */
      type: 'load.refused';
      /** Format: date-time */
      time: string;
      /** @constant */
      datacontenttype: 'application/json';
      data: {
        schema: string;
        table: string;
        /**
         * Format: uuid
         * @description The id of the load. Absent after Create Table.
         */
        load?: string;
        /** @description The HTTP status of the answer. */
        status?: number;
        /** @description The error code of the answer. */
        code?: string;
      };
    };
    /** @description The service or the database failed during an upload; nothing was changed. A CloudEvent (1.0). */
    LoadFailedEvent: {
      /** @constant */
      specversion: '1.0';
      /** Format: uuid */
      id: string;
      /**
       * Format: uri-reference
       * @description The URL of the table, relative to the service.
       */
      source: string;
      /** @constant */
      type: 'load.failed';
      /** Format: date-time */
      time: string;
      /** @constant */
      datacontenttype: 'application/json';
      data: {
        schema: string;
        table: string;
        /**
         * Format: uuid
         * @description The id of the load. Absent after Create Table.
         */
        load?: string;
        /** @description The HTTP status of the answer. */
        status?: number;
        /** @description The error code of the answer. */
        code?: string;
      };
    };
    /** @description A caller tries the webhook. A CloudEvent (1.0). */
    WebhookPingEvent: {
      /** @constant */
      specversion: '1.0';
      /** Format: uuid */
      id: string;
      /**
       * Format: uri-reference
       * @description The URL of the table, relative to the service.
       */
      source: string;
      /** @constant */
      type: 'webhook.ping';
      /** Format: date-time */
      time: string;
      /** @constant */
      datacontenttype: 'application/json';
      data: {
        /**
         * Format: uuid
         * @description The id of the webhook.
         */
        webhook: string;
      };
    };
  };
  responses: {
    /** @description Internal Server Error. */
    InternalServerError: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Service Unavailable. */
    ServiceUnavailable: {
      headers: {
        /** @description The number of seconds to wait before a retry, if known. */
        'Retry-After'?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Bad Request. */
    BadRequest: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Unauthorized. */
    Unauthorized: {
      headers: {
        /** @description What is wrong with the token (RFC 6750). */
        'WWW-Authenticate'?: string;
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Forbidden. */
    Forbidden: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Not Found. */
    NotFound: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Not Acceptable. */
    NotAcceptable: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Request Timeout. */
    RequestTimeout: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Conflict. */
    Conflict: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Content Too Large. */
    ContentTooLarge: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Unsupported Media Type. */
    UnsupportedMediaType: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Unprocessable Content. */
    UnprocessableContent: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Too Many Requests. */
    TooManyRequests: {
      headers: {
        /** @description The number of seconds to wait before a retry. */
        'Retry-After'?: string;
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Not Implemented. */
    NotImplemented: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Precondition Failed. */
    PreconditionFailed: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Gone. */
    Gone: {
      headers: {
        /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
        'RateLimit-Policy'?: string;
        /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
        RateLimit?: string;
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
    /** @description Bad Gateway. */
    BadGateway: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['ProblemDocument'];
      };
    };
  };
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  getHealth: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Alive. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Health'];
        };
      };
    };
  };
  getReadiness: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Ready. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Health'];
        };
      };
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  getVersion: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The version. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Version'];
        };
      };
    };
  };
  describeTable: {
    parameters: {
      query?: {
        /**
         * @description The schema of the table.
         * @example public
         */
        schema?: string;
      };
      header?: never;
      path: {
        /**
         * @description The name of the table: a PostgreSQL identifier of 1 to 63 bytes, case-sensitive and used exactly as written.
         * @example orders
         */
        table_name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The table. */
      200: {
        headers: {
          /** @description Changes whenever the definition of the table changes, for `If-Match`. */
          ETag?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DescribedTable'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. [`table-not-found`](/docs/errors/table-not-found): No such table. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. */
      409: components['responses']['Conflict'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  alterTable: {
    parameters: {
      query?: {
        /**
         * @description The schema of the table.
         * @example public
         */
        schema?: string;
        /** @description true: answers the changes, and makes none of them. It locks nothing and reads no rows. */
        dry_run?: boolean;
        /**
         * @description What may be lost, separated by commas: `drop_columns`, `drop_constraints`, `drop_indexes`, `lossy_types`. With `lossy_types` values may be rounded or lose precision or the time of day.
         * @example drop_columns,drop_indexes
         */
        allow?: string;
        /** @description The maximum time for which the table may stay locked, in milliseconds. */
        max_lock_ms?: number;
      };
      header?: {
        /** @description The `ETag` of an answer that described the table. If its definition is another one by now, nothing is changed (412). */
        'If-Match'?: string;
        /** @description `*`: creates the table, and changes no table that exists (412). */
        'If-None-Match'?: string;
        /** @description A key of the client for this request, such as the UUID `3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e`. Make a new one for each request. The same request with the same key is done once: its first answer is sent again, with `Idempotency-Replayed: true`, to tokens with the same role that have or lack `table:read` like the first one. Keys are kept for 24 hours from the beginning of the request. */
        'Idempotency-Key'?: string;
        /** @description How the body is packed: gzip, deflate, br, zstd. Default: it is not. */
        'Content-Encoding'?: string;
      };
      path: {
        /**
         * @description The name of the table: a PostgreSQL identifier of 1 to 63 bytes, case-sensitive and used exactly as written.
         * @example orders
         */
        table_name: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['AlteredTableBody'];
      };
    };
    responses: {
      /** @description The table as it is now, and its changes. With `dry_run`: the table before them. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AlteredTableAnswer'];
        };
      };
      /** @description Created. */
      201: {
        headers: {
          /** @description The URL that describes the table. */
          Location?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AlteredTableAnswer'];
        };
      };
      /** @description [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. [`table-not-found`](/docs/errors/table-not-found): No such table. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. [`dependent-objects`](/docs/errors/dependent-objects): Other objects depend on the table. [`idempotency-key-in-use`](/docs/errors/idempotency-key-in-use): A request with the key is still running. [`loses-data`](/docs/errors/loses-data): The change would lose a part of the table. [`lock-too-long`](/docs/errors/lock-too-long): The change would lock the table for too long. */
      409: components['responses']['Conflict'];
      /** @description [`precondition-failed`](/docs/errors/precondition-failed): The version is not the one that If-Match names. */
      412: components['responses']['PreconditionFailed'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`idempotency-key-reused`](/docs/errors/idempotency-key-reused): Another request has used the key. [`invalid-definition`](/docs/errors/invalid-definition): The table definition is not valid. [`invalid-data`](/docs/errors/invalid-data): The data does not fit the table. [`distribution-unavailable`](/docs/errors/distribution-unavailable): The database cannot distribute tables. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  createTable: {
    parameters: {
      query?: {
        /**
         * @description The schema of the table.
         * @example public
         */
        schema?: string;
        /** @description true: an existing table is left unchanged and described (200), with its `differences` from the definition. */
        if_not_exists?: boolean;
        /** @description true: the service chooses the names of all keys, foreign keys, indexes and sequences, so that the answer for one table makes a second one next to it. */
        new_names?: boolean;
      };
      header?: {
        /** @description A key of the client for this request, such as the UUID `3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e`. Make a new one for each request. The same request with the same key is done once: its first answer is sent again, with `Idempotency-Replayed: true`, to tokens with the same role that have or lack `table:read` like the first one. Keys are kept for 24 hours from the beginning of the request. */
        'Idempotency-Key'?: string;
        /** @description How the body is packed: gzip, deflate, br, zstd. Default: it is not. */
        'Content-Encoding'?: string;
      };
      path: {
        /**
         * @description The name of the table: a PostgreSQL identifier of 1 to 63 bytes, case-sensitive and used exactly as written.
         * @example orders
         */
        table_name: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['TableDefinitionBody'];
      };
    };
    responses: {
      /** @description With `if_not_exists=true`: the table already existed and is unchanged. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['FoundTable'];
        };
      };
      /** @description Created. */
      201: {
        headers: {
          /** @description The URL that describes the table. */
          Location?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CreatedTable'];
        };
      };
      /** @description [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. [`idempotency-key-in-use`](/docs/errors/idempotency-key-in-use): A request with the key is still running. [`table-exists`](/docs/errors/table-exists): The table already exists. */
      409: components['responses']['Conflict'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`idempotency-key-reused`](/docs/errors/idempotency-key-reused): Another request has used the key. [`invalid-definition`](/docs/errors/invalid-definition): The table definition is not valid. [`distribution-unavailable`](/docs/errors/distribution-unavailable): The database cannot distribute tables. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  dropTable: {
    parameters: {
      query?: {
        /**
         * @description The schema of the table.
         * @example public
         */
        schema?: string;
        /** @description true: a table that does not exist is no error. */
        if_exists?: boolean;
        /** @description true: checks that the table could be dropped, and keeps it. */
        dry_run?: boolean;
      };
      header?: {
        /** @description The `ETag` of an answer that described the table. If its definition is another one by now, nothing is changed (412). */
        'If-Match'?: string;
        /** @description A key of the client for this request, such as the UUID `3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e`. Make a new one for each request. The same request with the same key is done once: its first answer is sent again, with `Idempotency-Replayed: true`, to tokens with the same role that have or lack `table:read` like the first one. Keys are kept for 24 hours from the beginning of the request. */
        'Idempotency-Key'?: string;
      };
      path: {
        /**
         * @description The name of the table: a PostgreSQL identifier of 1 to 63 bytes, case-sensitive and used exactly as written.
         * @example orders
         */
        table_name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description There is no such table any more. With `dry_run`: it could be dropped. */
      204: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': unknown;
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. [`table-not-found`](/docs/errors/table-not-found): No such table. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. [`dependent-objects`](/docs/errors/dependent-objects): Other objects depend on the table. [`idempotency-key-in-use`](/docs/errors/idempotency-key-in-use): A request with the key is still running. */
      409: components['responses']['Conflict'];
      /** @description [`precondition-failed`](/docs/errors/precondition-failed): The version is not the one that If-Match names. */
      412: components['responses']['PreconditionFailed'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`idempotency-key-reused`](/docs/errors/idempotency-key-reused): Another request has used the key. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  renameTable: {
    parameters: {
      query?: {
        /**
         * @description The schema of the table.
         * @example public
         */
        schema?: string;
      };
      header?: {
        /** @description The `ETag` of an answer that described the table. If its definition is another one by now, nothing is changed (412). */
        'If-Match'?: string;
        /** @description A key of the client for this request, such as the UUID `3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e`. Make a new one for each request. The same request with the same key is done once: its first answer is sent again, with `Idempotency-Replayed: true`, to tokens with the same role that have or lack `table:read` like the first one. Keys are kept for 24 hours from the beginning of the request. */
        'Idempotency-Key'?: string;
        /** @description How the body is packed: gzip, deflate, br, zstd. Default: it is not. */
        'Content-Encoding'?: string;
      };
      path: {
        /**
         * @description The name of the table: a PostgreSQL identifier of 1 to 63 bytes, case-sensitive and used exactly as written.
         * @example orders
         */
        table_name: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['TableChange'];
      };
    };
    responses: {
      /** @description The table as it is now. */
      200: {
        headers: {
          /** @description Changes whenever the definition of the table changes, for `If-Match`. */
          ETag?: string;
          /** @description The URL that describes the table. */
          Location?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RenamedTable'];
        };
      };
      /** @description [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. [`table-not-found`](/docs/errors/table-not-found): No such table. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. [`dependent-objects`](/docs/errors/dependent-objects): Other objects depend on the table. [`idempotency-key-in-use`](/docs/errors/idempotency-key-in-use): A request with the key is still running. [`table-exists`](/docs/errors/table-exists): The table already exists. */
      409: components['responses']['Conflict'];
      /** @description [`precondition-failed`](/docs/errors/precondition-failed): The version is not the one that If-Match names. */
      412: components['responses']['PreconditionFailed'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`idempotency-key-reused`](/docs/errors/idempotency-key-reused): Another request has used the key. [`invalid-definition`](/docs/errors/invalid-definition): The table definition is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  listWebhooks: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The webhooks. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['WebhookList'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  createWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['NewWebhook'];
      };
    };
    responses: {
      /** @description The webhook. */
      201: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CreatedWebhook'];
        };
      };
      /** @description [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. */
      403: components['responses']['Forbidden'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-webhook`](/docs/errors/invalid-webhook): The webhook is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  readProfile: {
    parameters: {
      query?: {
        /** @description Only the profile that is shared with this schema. Without it: the own one of the subject, or else the shared one. */
        shared_with?: string;
        /** @description One of the newest 20 versions. Default: the newest. */
        version?: number;
      };
      header?: never;
      path: {
        /**
         * @description The name of the profile: 1 to 63 bytes of UTF-8, case-sensitive.
         * @example monthly-orders
         */
        name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The profile. */
      200: {
        headers: {
          /** @description The version, for `If-Match`. */
          ETag?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Profile'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`profile-not-found`](/docs/errors/profile-not-found): No such profile. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  saveProfile: {
    parameters: {
      query?: {
        /** @description The schema with which the profile is shared. Without it the profile is the own one of the subject. */
        shared_with?: string;
      };
      header?: {
        /** @description The `ETag` of the version that the request replaces, so that two editors do not overwrite each other (412). */
        'If-Match'?: string;
        /** @description `*`: only if there is no such profile (412). */
        'If-None-Match'?: string;
      };
      path: {
        /**
         * @description The name of the profile: 1 to 63 bytes of UTF-8, case-sensitive.
         * @example monthly-orders
         */
        name: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['ProfileContent'];
      };
    };
    responses: {
      /** @description The profile, with its version. */
      200: {
        headers: {
          /** @description The version, for `If-Match`. */
          ETag?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Profile'];
        };
      };
      /** @description The profile was created. */
      201: {
        headers: {
          /** @description The version, for `If-Match`. */
          ETag?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Profile'];
        };
      };
      /** @description [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`profile-not-owned`](/docs/errors/profile-not-owned): The profile belongs to another subject. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`precondition-failed`](/docs/errors/precondition-failed): The version is not the one that If-Match names. */
      412: components['responses']['PreconditionFailed'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`invalid-profile`](/docs/errors/invalid-profile): The profile is not valid. [`invalid-definition`](/docs/errors/invalid-definition): The table definition is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  deleteProfile: {
    parameters: {
      query?: {
        /** @description The schema with which the profile is shared. Without it the profile is the own one of the subject. */
        shared_with?: string;
      };
      header?: {
        /** @description The `ETag` of the version that the request replaces, so that two editors do not overwrite each other (412). */
        'If-Match'?: string;
        /** @description `*`: only if there is no such profile (412). */
        'If-None-Match'?: string;
      };
      path: {
        /**
         * @description The name of the profile: 1 to 63 bytes of UTF-8, case-sensitive.
         * @example monthly-orders
         */
        name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The profile was removed. */
      204: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': unknown;
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`profile-not-owned`](/docs/errors/profile-not-owned): The profile belongs to another subject. */
      403: components['responses']['Forbidden'];
      /** @description [`profile-not-found`](/docs/errors/profile-not-found): No such profile. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`precondition-failed`](/docs/errors/precondition-failed): The version is not the one that If-Match names. */
      412: components['responses']['PreconditionFailed'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  listTables: {
    parameters: {
      query?: {
        /** @description Only the tables of this schema. Default: all schemas that the token allows. */
        schema?: string;
        /** @description The maximum number of tables in the answer. */
        limit?: number;
        /** @description The value of `next` in the answer before, to get the tables that follow. */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The tables, in pages. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ListedTables'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. */
      409: components['responses']['Conflict'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  listTypes: {
    parameters: {
      query?: {
        /** @description Only the types of this schema. Default: PostgreSQL's own types, those of extensions, the aliases, and those of all schemas that the token allows. */
        schema?: string;
        /** @description The value of `next` in the answer before, to get the types that follow. */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The types, in pages. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ListedTypes'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. */
      409: components['responses']['Conflict'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  readRows: {
    parameters: {
      query?: {
        /**
         * @description The schema of the table.
         * @example public
         */
        schema?: string;
        /** @description The maximum number of rows. Without a format: 50 by default, and at most 1,000. With one: all rows by default. */
        limit?: number;
        /** @description Exports all rows as a file: `csv`, `ndjson`, `json` (a document that uploads accept) or `xlsx`. The header `Accept` with the media type of CSV, NDJSON or a workbook does the same. Needs the scope `table:export`. */
        format?: 'csv' | 'ndjson' | 'json' | 'xlsx';
        /**
         * @description The columns of the file in their order, separated by commas, for an export. A backslash before a comma makes it part of a name. Default: all columns.
         * @example id,name
         */
        columns?: string;
        /**
         * @description The columns by which the rows are ordered, separated by commas, each with `.asc` (default) or `.desc`. Without a format: one column. Without it the order is that of PostgreSQL.
         * @example ordered_at.desc,id
         */
        order?: string;
        /** @description The value of `next` in the answer before, to get the rows that follow. */
        after?: string;
      };
      header?: never;
      path: {
        /**
         * @description The name of the table: a PostgreSQL identifier of 1 to 63 bytes, case-sensitive and used exactly as written.
         * @example orders
         */
        table_name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The first rows. With `format`: a file of the type `text/csv`, `application/x-ndjson`, `application/json` or `application/vnd.openxmlformats-officedocument.spreadsheetml.sheet`. */
      200: {
        headers: {
          /** @description The name of the file. */
          'Content-Disposition'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['FirstRows'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. [`table-not-found`](/docs/errors/table-not-found): No such table. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. */
      409: components['responses']['Conflict'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`invalid-data`](/docs/errors/invalid-data): The data does not fit the table. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  readEvents: {
    parameters: {
      query?: never;
      header?: {
        /** @description The id of the last event that was received. */
        'Last-Event-ID'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Events. `id` is the place of the event, `event` its type, and `data` a CloudEvent as JSON. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'text/event-stream': string;
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`events-removed`](/docs/errors/events-removed): Events after the last one have been removed. */
      410: components['responses']['Gone'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  listLoads: {
    parameters: {
      query?: {
        /** @description Only loads in this state. */
        state?:
          | 'receiving'
          | 'queued'
          | 'running'
          | 'committed'
          | 'checked'
          | 'refused'
          | 'failed'
          | 'cancelled';
        /** @description Only loads into tables of this schema. */
        schema?: string;
        /** @description Only loads into tables of this name. */
        table?: string;
        /** @description `false`: without dry runs. `true`: only dry runs. */
        dry_run?: boolean;
        /** @description Only the load of the request with this `Idempotency-Key`, if the subject of the token has sent it. So a client learns the id of its load before the upload is answered. */
        idempotency_key?: string;
        /** @description The maximum number of loads of the answer. */
        limit?: number;
        /** @description The value of `next` of the page before. */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The loads. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoadList'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  loadTables: {
    parameters: {
      query?: {
        /** @description true: everything is done and checked, and then rolled back. */
        dry_run?: boolean;
      };
      header?: {
        /** @description A key of the client for this request, such as the UUID `3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e`. Make a new one for each request. The same request with the same key is done once: its first answer is sent again, with `Idempotency-Replayed: true`, to tokens with the same role that have or lack `table:read` like the first one. Keys are kept for 24 hours from the beginning of the request. */
        'Idempotency-Key'?: string;
        /** @description `respond-async` (RFC 7240): the answer is 202 as soon as the body is stored, and the rows are loaded later. `Location` is the load. */
        Prefer?: string;
        /** @description How the body is packed: gzip, deflate, br, zstd. Default: it is not. */
        'Content-Encoding'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'multipart/form-data': components['schemas']['PlanUpload'];
      };
    };
    responses: {
      /** @description Rows were added to existing tables. With `dry_run`: nothing was changed. */
      200: {
        headers: {
          /** @description The id of the load, also in answers to refused uploads. */
          'Load-Id'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoadedTables'];
        };
      };
      /** @description At least one table was created or replaced. */
      201: {
        headers: {
          /** @description The id of the load, also in answers to refused uploads. */
          'Load-Id'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoadedTables'];
        };
      };
      /** @description With `Prefer: respond-async`: the body is stored, and the rows will be loaded. */
      202: {
        headers: {
          /** @description The URL that describes the load. */
          Location?: string;
          /** @description `respond-async`. */
          'Preference-Applied'?: string;
          /** @description The id of the load, also in answers to refused uploads. */
          'Load-Id'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Load'];
        };
      };
      /** @description [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. [`invalid-multipart`](/docs/errors/invalid-multipart): The body is not valid multipart/form-data. [`invalid-file`](/docs/errors/invalid-file): The file is broken. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. [`table-not-found`](/docs/errors/table-not-found): No such table. [`profile-not-found`](/docs/errors/profile-not-found): No such profile. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. [`table-exists`](/docs/errors/table-exists): The table already exists. [`dependent-objects`](/docs/errors/dependent-objects): Other objects depend on the table. [`loses-data`](/docs/errors/loses-data): The change would lose a part of the table. [`load-cancelled`](/docs/errors/load-cancelled): The load was cancelled. [`idempotency-key-in-use`](/docs/errors/idempotency-key-in-use): A request with the key is still running. */
      409: components['responses']['Conflict'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`idempotency-key-reused`](/docs/errors/idempotency-key-reused): Another request has used the key. [`invalid-definition`](/docs/errors/invalid-definition): The table definition is not valid. [`distribution-unavailable`](/docs/errors/distribution-unavailable): The database cannot distribute tables. [`invalid-data`](/docs/errors/invalid-data): The data does not fit the table. [`nothing-to-load`](/docs/errors/nothing-to-load): The upload has neither a definition nor rows. [`unsupported-file`](/docs/errors/unsupported-file): The file cannot be read as a spreadsheet. [`password-required`](/docs/errors/password-required): The workbook is encrypted. [`wrong-password`](/docs/errors/wrong-password): The password does not open the workbook. [`link-refused`](/docs/errors/link-refused): The link cannot be used. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. [`too-many-uploads`](/docs/errors/too-many-uploads): Too many uploads are running. [`queue-full`](/docs/errors/queue-full): Too many asynchronous uploads wait. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`link-failed`](/docs/errors/link-failed): The file of the link cannot be fetched. */
      502: components['responses']['BadGateway'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`storage-full`](/docs/errors/storage-full): The service has no room left for the upload. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  describeLoad: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The id of the load.
         * @example 0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The load. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Load'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`load-not-found`](/docs/errors/load-not-found): No such load. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  watchLoad: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The id of the load.
         * @example 0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The events. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'text/event-stream': string;
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`load-not-found`](/docs/errors/load-not-found): No such load. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  listLoadProblems: {
    parameters: {
      query?: {
        /** @description The maximum number of problems of the answer. */
        limit?: number;
        /** @description How many of the first problems are left out: the value of `next` of the page before. */
        after?: number;
      };
      header?: never;
      path: {
        /**
         * @description The id of the load.
         * @example 0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The problems. */
      200: {
        headers: {
          /** @description The next page (`rel="next"`), if there is one. */
          Link?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoadProblems'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`load-not-found`](/docs/errors/load-not-found): No such load. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  listLoadChanges: {
    parameters: {
      query?: {
        /** @description The maximum number of changes of the answer. */
        limit?: number;
        /** @description How many of the first changes are left out: the value of `next` of the page before. */
        after?: number;
      };
      header?: never;
      path: {
        /**
         * @description The id of the load.
         * @example 0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The changes. */
      200: {
        headers: {
          /** @description The next page (`rel="next"`), if there is one. */
          Link?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoadChanges'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`load-not-found`](/docs/errors/load-not-found): No such load. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  readFaultyRows: {
    parameters: {
      query?: {
        /** @description The format of the file. Without it `Accept` decides, or else the file is like the one that was sent: CSV for text files, NDJSON for JSON, and a workbook for all others. */
        format?: 'csv' | 'ndjson' | 'xlsx';
      };
      header?: never;
      path: {
        /**
         * @description The id of the load.
         * @example 0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A file of the type `text/csv`, `application/x-ndjson` or `application/vnd.openxmlformats-officedocument.spreadsheetml.sheet`. */
      200: {
        headers: {
          /** @description The name of the file. It ends with `-incomplete` if more rows have problems. */
          'Content-Disposition'?: string;
          /** @description `false`: more rows have problems than the file has. */
          'Faulty-Rows-Complete'?: 'true' | 'false';
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'text/csv': string;
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`load-not-found`](/docs/errors/load-not-found): No such load. [`no-faulty-rows`](/docs/errors/no-faulty-rows): No faulty rows. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  cancelLoad: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The id of the load.
         * @example 0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The load ends soon. */
      202: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Load'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`load-not-found`](/docs/errors/load-not-found): No such load. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`load-ended`](/docs/errors/load-ended): The load has ended. */
      409: components['responses']['Conflict'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  deleteWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The id of the webhook.
         * @example 3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The webhook that was removed. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Webhook'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`webhook-not-found`](/docs/errors/webhook-not-found): No such webhook. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  listDeliveries: {
    parameters: {
      query?: {
        /** @description Only deliveries in this state. */
        state?: 'pending' | 'delivered' | 'dead';
        /** @description The maximum number of deliveries of the answer. */
        limit?: number;
      };
      header?: never;
      path: {
        /**
         * @description The id of the webhook.
         * @example 3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The deliveries. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeliveryList'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`webhook-not-found`](/docs/errors/webhook-not-found): No such webhook. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  pingWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The id of the webhook.
         * @example 3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The event is being sent. */
      202: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ping'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`webhook-not-found`](/docs/errors/webhook-not-found): No such webhook. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`invalid-webhook`](/docs/errors/invalid-webhook): The webhook is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  listProfiles: {
    parameters: {
      query?: {
        /** @description Only profiles with this name. */
        name?: string;
        /** @description The maximum number of profiles of the answer. */
        limit?: number;
        /** @description The value of `next` of the page before. */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The profiles. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ProfileList'];
        };
      };
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  uploadTableFromJson: {
    parameters: {
      query?: {
        /**
         * @description The schema of the table.
         * @example public
         */
        schema?: string;
        /** @description The name of a profile (docs/loading.md). Its parameters and its definition count as if they had been sent; those of the request win. Default: none. */
        profile?: string;
        /** @description For uploads without a definition: the columns of the primary key, separated by commas: `order_no,line`. An existing table must already have this key. Default: none. */
        primary_key?: string;
        /** @description New names for headers or keys: `Order no:order_no,Total:total`. In lists of names, write a backslash before a comma, colon or backslash. A header matches exactly or else ignoring case; a JSON key must match exactly. Default: none. */
        rename?: string;
        /** @description Columns of the data that the table does not have. `fail`: 422. `ignore`: leave them out, also columns that PostgreSQL computes. `add`: add them to the table with inferred types. */
        extra_columns?: 'fail' | 'ignore' | 'add';
        /** @description Columns that say where each row came from: `load_id:_load,source_row:_row`. `load_id`: the id of the load (`uuid`). `loaded_at`: when it began (`timestamptz`). `source_file`: the name of the file (`text`). `source_sheet`: its sheet (`text`). `source_row`: the row of the file, or the number of a JSON row (`bigint` or `integer`). Missing columns are added, which needs the scope `table:create`. Default: none. */
        provenance?: string;
        /** @description Values that do not fit the type of a column of an existing table. `fail`: they are problems, and PostgreSQL rounds decimals to the scale of the column. `widen`: the column gets the narrowest type that keeps its values and the new ones, such as `bigint` or `varchar(8)`. `widen_text`: also `text`. It needs `if_exists=append` or `truncate`, and the scope `table:alter`. */
        misfits?: 'fail' | 'widen' | 'widen_text';
        /** @description What to do with an existing table. `fail`: 409. `append`: add the rows. `truncate`: empty it and load the rows; its definition, grants and views stay. `replace`: the new table replaces it and gets its owner, grants and comments, but not its keys. */
        if_exists?: 'fail' | 'append' | 'truncate' | 'replace';
        /** @description What to do if there is no such table. `create`: make it (scope `table:create`). `fail`: 404. It needs `if_exists=append`, `truncate` or `replace`. */
        if_missing?: 'create' | 'fail';
        /** @description What to do with a row whose key already exists, in the table or earlier in the upload. `fail`: 422. `skip`: the first row is kept. `update`: the existing row is updated; only columns of the upload change. A row without a value for the key is always inserted. */
        on_conflict?: 'fail' | 'skip' | 'update';
        /** @description The columns of the primary key, unique constraint or unique index that `on_conflict` uses, separated by commas. Default: the primary key, or else the first unique constraint, if the data has all of its columns. */
        conflict_key?: string;
        /** @description Rows of the table that the upload does not have, by the key of `on_conflict`. `keep`: they stay, and `load.missing` counts them. `delete`: they are deleted. `mark:is_gone`: they get true in a boolean column, or the time of the load in a date or timestamp column, until they return. `delete` and `mark` need `if_exists=append`, `on_conflict=update` or `skip`, and the scope `table:replace`. Default: the rows stay, and are not counted. */
        missing_rows?: string;
        /** @description With `missing_rows=delete` or `mark`: how many rows may be missing, as a number or as a share of the rows that are compared: `500`, `10%` (in a URL `10%25`). If more are missing: 409. Default: `10%`. */
        max_missing_rows?: number | string;
        /** @description With `missing_rows`: only rows whose combination of values in these columns occurs in the upload can be missing: `region,month`. NULL equals NULL. Default: none, so all rows can be missing. */
        missing_within?: string;
        /** @description true: the load is done and checked, and then rolled back. */
        dry_run?: boolean;
        /** @description What to do with rows that have a problem. `fail`: nothing is loaded. `leave_out`: they are left out, `load.left_out` lists their problems, and all others are loaded. */
        faulty_rows?: 'fail' | 'leave_out';
        /** @description With `faulty_rows=leave_out`: how many rows may be left out, or a share of the rows such as `1%` (in a URL `1%25`). If more rows have problems, nothing is loaded. Default: 100. */
        max_faulty_rows?: number | string;
        /** @description How texts become dates, numbers, times and booleans. `strict`: in the notation of PostgreSQL, or in the one that `date_order`, `decimal_sign` and `thousands_sign` name. `natural`: each column in the one notation that all of its values have: `17-Jan-94`, `€ 1.234,50`, `(80.50)`, `12 %` (0.12), `2:30 PM`, `Yes` and `No`. If several notations fit, the column stays text, and the warning `other-notation` offers them. */
        values?: 'strict' | 'natural';
        /** @description Languages besides English, by their tags (BCP 47): `de,fr`. The names of their months and weekdays are read with `values=natural` or a `date_order`, their words for yes and no with `values=natural`. At most 10. Default: English only. */
        languages?: string;
        /** @description true: every column whose type would be inferred is `text`. */
        all_text?: boolean;
        /** @description Texts that mean NULL, separated by commas, case-sensitive: `N/A,-`. An empty item means the empty text. Write a backslash before a comma or backslash in a text. Default: none. */
        null_values?: string;
        /** @description The order of day, month and year in dates such as `21/11/2026`, `21.11.26` or `11/21/2026, 2:30 PM`. Dates such as `2026-11-21` are read with every value. `iso`: only such dates. */
        date_order?: 'iso' | 'dmy' | 'mdy' | 'ymd';
        /** @description The sign before the decimals of a number: `1,5` needs `decimal_sign=,`. */
        decimal_sign?: '.' | ',';
        /** @description The sign between the thousands of a number: `1.234,50` needs `decimal_sign=,&thousands_sign=.`. `space` is also the narrow space and the no-break space. Groups have three digits, or two before the last three, as in India. */
        thousands_sign?: 'none' | '.' | ',' | 'space' | "'";
        /** @description true: white space around a text is removed, including invisible and control characters. */
        trim?: boolean;
        /** @description Where in a JSON document the array of rows, or an object that is the only row, is: a JSON Pointer (RFC 6901), such as `/response/items`. Without a value it is the whole document. Of the rest only a definition in its member `table` is used. Default: the rows are in `data`, or the document is the array. */
        rows_at?: string;
        /** @description true: the members of nested objects are columns: `{"a": {"b": 1}}` has the column `a_b`. Arrays remain values. */
        flatten?: boolean;
        /** @description With `flatten=true`: what is between the names of an object and its member, 1 to 8 characters. Default: `_`. */
        flatten_separator?: string;
      };
      header?: {
        /** @description A key of the client for this request, such as the UUID `3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e`. Make a new one for each request. The same request with the same key is done once: its first answer is sent again, with `Idempotency-Replayed: true`, to tokens with the same role that have or lack `table:read` like the first one. Keys are kept for 24 hours from the beginning of the request. */
        'Idempotency-Key'?: string;
        /** @description `respond-async` (RFC 7240): the answer is 202 as soon as the body is stored, and the rows are loaded later. `Location` is the load. */
        Prefer?: string;
        /** @description How the body is packed: gzip, deflate, br, zstd. Default: it is not. */
        'Content-Encoding'?: string;
      };
      path: {
        /**
         * @description The name of the table: a PostgreSQL identifier of 1 to 63 bytes, case-sensitive and used exactly as written.
         * @example orders
         */
        table_name: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json':
          | components['schemas']['JsonUpload']
          | {
              [key: string]: unknown;
            }[];
        'application/x-ndjson': string;
      };
    };
    responses: {
      /** @description The rows were added to an existing table. With `dry_run`: nothing was changed. */
      200: {
        headers: {
          /** @description The id of the load, also in answers to refused uploads. */
          'Load-Id'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoadedTable'];
        };
      };
      /** @description The table was created or replaced. */
      201: {
        headers: {
          /** @description The URL that describes the table. */
          Location?: string;
          /** @description The id of the load, also in answers to refused uploads. */
          'Load-Id'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoadedTable'];
        };
      };
      /** @description With `Prefer: respond-async`: the body is stored, and the rows will be loaded. */
      202: {
        headers: {
          /** @description The URL that describes the load. */
          Location?: string;
          /** @description `respond-async`. */
          'Preference-Applied'?: string;
          /** @description The id of the load, also in answers to refused uploads. */
          'Load-Id'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Load'];
        };
      };
      /** @description [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. [`table-not-found`](/docs/errors/table-not-found): No such table. [`profile-not-found`](/docs/errors/profile-not-found): No such profile. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. [`table-exists`](/docs/errors/table-exists): The table already exists. [`dependent-objects`](/docs/errors/dependent-objects): Other objects depend on the table. [`loses-data`](/docs/errors/loses-data): The change would lose a part of the table. [`load-cancelled`](/docs/errors/load-cancelled): The load was cancelled. [`idempotency-key-in-use`](/docs/errors/idempotency-key-in-use): A request with the key is still running. */
      409: components['responses']['Conflict'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`idempotency-key-reused`](/docs/errors/idempotency-key-reused): Another request has used the key. [`invalid-definition`](/docs/errors/invalid-definition): The table definition is not valid. [`distribution-unavailable`](/docs/errors/distribution-unavailable): The database cannot distribute tables. [`invalid-data`](/docs/errors/invalid-data): The data does not fit the table. [`nothing-to-load`](/docs/errors/nothing-to-load): The upload has neither a definition nor rows. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. [`too-many-uploads`](/docs/errors/too-many-uploads): Too many uploads are running. [`queue-full`](/docs/errors/queue-full): Too many asynchronous uploads wait. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`storage-full`](/docs/errors/storage-full): The service has no room left for the upload. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  inspectJson: {
    parameters: {
      query?: {
        /** @description The name of a profile (docs/loading.md). Its parameters and its definition count as if they had been sent; those of the request win. Default: none. */
        profile?: string;
        /** @description How texts become dates, numbers, times and booleans. `strict`: in the notation of PostgreSQL, or in the one that `date_order`, `decimal_sign` and `thousands_sign` name. `natural`: each column in the one notation that all of its values have: `17-Jan-94`, `€ 1.234,50`, `(80.50)`, `12 %` (0.12), `2:30 PM`, `Yes` and `No`. If several notations fit, the column stays text, and the warning `other-notation` offers them. */
        values?: 'strict' | 'natural';
        /** @description Languages besides English, by their tags (BCP 47): `de,fr`. The names of their months and weekdays are read with `values=natural` or a `date_order`, their words for yes and no with `values=natural`. At most 10. Default: English only. */
        languages?: string;
        /** @description true: every column whose type would be inferred is `text`. */
        all_text?: boolean;
        /** @description Texts that mean NULL, separated by commas, case-sensitive: `N/A,-`. An empty item means the empty text. Write a backslash before a comma or backslash in a text. Default: none. */
        null_values?: string;
        /** @description The order of day, month and year in dates such as `21/11/2026`, `21.11.26` or `11/21/2026, 2:30 PM`. Dates such as `2026-11-21` are read with every value. `iso`: only such dates. */
        date_order?: 'iso' | 'dmy' | 'mdy' | 'ymd';
        /** @description The sign before the decimals of a number: `1,5` needs `decimal_sign=,`. */
        decimal_sign?: '.' | ',';
        /** @description The sign between the thousands of a number: `1.234,50` needs `decimal_sign=,&thousands_sign=.`. `space` is also the narrow space and the no-break space. Groups have three digits, or two before the last three, as in India. */
        thousands_sign?: 'none' | '.' | ',' | 'space' | "'";
        /** @description true: white space around a text is removed, including invisible and control characters. */
        trim?: boolean;
        /** @description Where in a JSON document the array of rows, or an object that is the only row, is: a JSON Pointer (RFC 6901), such as `/response/items`. Without a value it is the whole document. Of the rest only a definition in its member `table` is used. Default: the rows are in `data`, or the document is the array. */
        rows_at?: string;
        /** @description true: the members of nested objects are columns: `{"a": {"b": 1}}` has the column `a_b`. Arrays remain values. */
        flatten?: boolean;
        /** @description With `flatten=true`: what is between the names of an object and its member, 1 to 8 characters. Default: `_`. */
        flatten_separator?: string;
      };
      header?: {
        /** @description How the body is packed: gzip, deflate, br, zstd. Default: it is not. */
        'Content-Encoding'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "response": {
         *         "items": [
         *           {
         *             "sku": "00042",
         *             "price": 1.1
         *           }
         *         ]
         *       }
         *     }
         */
        'application/json': unknown;
        'application/x-ndjson': string;
      };
    };
    responses: {
      /** @description What the body contains. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['InspectedJson'];
        };
      };
      /** @description [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`profile-not-found`](/docs/errors/profile-not-found): No such profile. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`invalid-data`](/docs/errors/invalid-data): The data does not fit the table. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. [`too-many-uploads`](/docs/errors/too-many-uploads): Too many uploads are running. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`storage-full`](/docs/errors/storage-full): The service has no room left for the upload. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  uploadTableFromExcel: {
    parameters: {
      query?: {
        /**
         * @description The schema of the table.
         * @example public
         */
        schema?: string;
        /** @description The name of a profile (docs/loading.md). Its parameters and its definition count as if they had been sent; those of the request win. Default: none. */
        profile?: string;
        /** @description For uploads without a definition: the columns of the primary key, separated by commas: `order_no,line`. An existing table must already have this key. Default: none. */
        primary_key?: string;
        /** @description New names for headers or keys: `Order no:order_no,Total:total`. In lists of names, write a backslash before a comma, colon or backslash. A header matches exactly or else ignoring case; a JSON key must match exactly. Default: none. */
        rename?: string;
        /** @description Columns of the data that the table does not have. `fail`: 422. `ignore`: leave them out, also columns that PostgreSQL computes. `add`: add them to the table with inferred types. */
        extra_columns?: 'fail' | 'ignore' | 'add';
        /** @description Columns that say where each row came from: `load_id:_load,source_row:_row`. `load_id`: the id of the load (`uuid`). `loaded_at`: when it began (`timestamptz`). `source_file`: the name of the file (`text`). `source_sheet`: its sheet (`text`). `source_row`: the row of the file, or the number of a JSON row (`bigint` or `integer`). Missing columns are added, which needs the scope `table:create`. Default: none. */
        provenance?: string;
        /** @description Values that do not fit the type of a column of an existing table. `fail`: they are problems, and PostgreSQL rounds decimals to the scale of the column. `widen`: the column gets the narrowest type that keeps its values and the new ones, such as `bigint` or `varchar(8)`. `widen_text`: also `text`. It needs `if_exists=append` or `truncate`, and the scope `table:alter`. */
        misfits?: 'fail' | 'widen' | 'widen_text';
        /** @description What to do with an existing table. `fail`: 409. `append`: add the rows. `truncate`: empty it and load the rows; its definition, grants and views stay. `replace`: the new table replaces it and gets its owner, grants and comments, but not its keys. */
        if_exists?: 'fail' | 'append' | 'truncate' | 'replace';
        /** @description What to do if there is no such table. `create`: make it (scope `table:create`). `fail`: 404. It needs `if_exists=append`, `truncate` or `replace`. */
        if_missing?: 'create' | 'fail';
        /** @description What to do with a row whose key already exists, in the table or earlier in the upload. `fail`: 422. `skip`: the first row is kept. `update`: the existing row is updated; only columns of the upload change. A row without a value for the key is always inserted. */
        on_conflict?: 'fail' | 'skip' | 'update';
        /** @description The columns of the primary key, unique constraint or unique index that `on_conflict` uses, separated by commas. Default: the primary key, or else the first unique constraint, if the data has all of its columns. */
        conflict_key?: string;
        /** @description Rows of the table that the upload does not have, by the key of `on_conflict`. `keep`: they stay, and `load.missing` counts them. `delete`: they are deleted. `mark:is_gone`: they get true in a boolean column, or the time of the load in a date or timestamp column, until they return. `delete` and `mark` need `if_exists=append`, `on_conflict=update` or `skip`, and the scope `table:replace`. Default: the rows stay, and are not counted. */
        missing_rows?: string;
        /** @description With `missing_rows=delete` or `mark`: how many rows may be missing, as a number or as a share of the rows that are compared: `500`, `10%` (in a URL `10%25`). If more are missing: 409. Default: `10%`. */
        max_missing_rows?: number | string;
        /** @description With `missing_rows`: only rows whose combination of values in these columns occurs in the upload can be missing: `region,month`. NULL equals NULL. Default: none, so all rows can be missing. */
        missing_within?: string;
        /** @description true: the load is done and checked, and then rolled back. */
        dry_run?: boolean;
        /** @description What to do with rows that have a problem. `fail`: nothing is loaded. `leave_out`: they are left out, `load.left_out` lists their problems, and all others are loaded. */
        faulty_rows?: 'fail' | 'leave_out';
        /** @description With `faulty_rows=leave_out`: how many rows may be left out, or a share of the rows such as `1%` (in a URL `1%25`). If more rows have problems, nothing is loaded. Default: 100. */
        max_faulty_rows?: number | string;
        /** @description How texts become dates, numbers, times and booleans. `strict`: in the notation of PostgreSQL, or in the one that `date_order`, `decimal_sign` and `thousands_sign` name. `natural`: each column in the one notation that all of its values have: `17-Jan-94`, `€ 1.234,50`, `(80.50)`, `12 %` (0.12), `2:30 PM`, `Yes` and `No`. If several notations fit, the column stays text, and the warning `other-notation` offers them. */
        values?: 'strict' | 'natural';
        /** @description Languages besides English, by their tags (BCP 47): `de,fr`. The names of their months and weekdays are read with `values=natural` or a `date_order`, their words for yes and no with `values=natural`. At most 10. Default: English only. */
        languages?: string;
        /** @description true: every column whose type would be inferred is `text`. */
        all_text?: boolean;
        /** @description Texts that mean NULL, separated by commas, case-sensitive: `N/A,-`. An empty item means the empty text. Write a backslash before a comma or backslash in a text. Default: none. */
        null_values?: string;
        /** @description The order of day, month and year in dates such as `21/11/2026`, `21.11.26` or `11/21/2026, 2:30 PM`. Dates such as `2026-11-21` are read with every value. `iso`: only such dates. */
        date_order?: 'iso' | 'dmy' | 'mdy' | 'ymd';
        /** @description The sign before the decimals of a number: `1,5` needs `decimal_sign=,`. */
        decimal_sign?: '.' | ',';
        /** @description The sign between the thousands of a number: `1.234,50` needs `decimal_sign=,&thousands_sign=.`. `space` is also the narrow space and the no-break space. Groups have three digits, or two before the last three, as in India. */
        thousands_sign?: 'none' | '.' | ',' | 'space' | "'";
        /** @description true: white space around a text is removed, including invisible and control characters. */
        trim?: boolean;
        /** @description The file that is read of a zip file that is no workbook: its name with its folder, as in `2026/orders.csv`. Default: the only file, or the only one with the extension of a table. */
        file_in_zip?: string;
        /** @description The name of the sheet, exactly or else ignoring case, or its number from 1. `auto`: the visible sheet with the largest table, with a warning that says why. Default: the first visible sheet. */
        sheet?: string;
        /** @description The row of the sheet with the column names, from 1. `auto`: the row or rows that look most like a header, or none if the first row has values; only this table is read, and a warning says why. Default: the first row that has a value. */
        header_row?: number | 'auto';
        /** @description The number of header rows, from `header_row` on. Their texts are joined for each column: `Population 2020` above `male` is `Population 2020 male`. */
        header_rows?: number;
        /** @description false: the first row is data, and the columns are named `column_A`, `column_B`, … */
        header?: boolean;
        /** @description Load only these cells: `B3:F200`, `B:F`, or `B3:F` (all rows from 3 on). The first row is the header. Default: all cells. */
        range?: string;
        /** @description Only these cells: the name of an Excel table or of a range of cells (a defined name), or the cells themselves with their sheet, as in `'Sales Data'!B4:F20`. The totals row of a table is left out. Not with `range`. Default: all cells. */
        table_range?: string;
        /** @description Hidden rows and columns, also rows that a filter hides. `read`: with a warning. `skip`: they are left out. */
        hidden?: 'read' | 'skip';
        /** @description The rows below the first empty row after the data began. `skip`: they are left out, with a warning. */
        footer?: 'read' | 'skip';
        /** @description The columns in which an empty cell takes the value above it, separated by commas: `region,year`. The names are those of the header, before `rename`. At most 10, and a repeated value has at most 1,000 bytes. Default: none. */
        fill_down?: string;
        /** @description How headers become names. `exact`: without outer space. `snake_case`: `Site no` becomes `site_no`. */
        column_names?: 'exact' | 'snake_case';
        /** @description Error cells (`#N/A`), formulas without a stored result, and numbers with a date format that are not a day in the calendar. `fail`: they are problems. `null`: they are NULL, with a warning for each column. */
        cell_errors?: 'fail' | 'null';
        /** @description What an empty cell means. `default`: the row has no value, so the column takes its default, and an update (`on_conflict=update`) does not change it. `null`: NULL, also in place of a default, and an update clears the column. */
        empty_cells?: 'default' | 'null';
        /** @description For text files: the separator of fields, one ASCII character that is not a letter, digit or quote, or `tab` or `space`. Default: detected among `,`, `;`, `tab`, `|`, `#` and `space`, or the separator that a first line such as `sep=;` names. */
        delimiter?: string;
        /** @description For text files: the quotation mark around fields. `none`: quotation marks are text. Default: `"`, or `'` if the first lines clearly have it around fields. */
        quote?: '"' | "'" | 'none';
        /** @description For text files: quotation marks that are not doubled in a quoted field, or single at its beginning. `repair`: they are read as text, with a warning, if only one reading gives the row and the next one as many fields as the header has. `strict`: each is a problem. */
        quotes?: 'repair' | 'strict';
        /** @description For text files: `\` (in a URL `%5C`) if programs have written a backslash before quotation marks and backslashes within quoted fields, as MySQL and Spark do. `none`: backslashes are text. Default: `\` if the first lines clearly use it, or else `none`. */
        escape?: '\\' | 'none';
        /** @description For text files: what values in quotes are. `any`: the same as without quotes. `text`: numbers, `true` and `false` in quotes are text, as in JSON. `exact`: as in exports and files of `COPY`, an empty field in quotes is the empty text, blank texts make a row, `="7"` is a text, and only `"` is a quotation mark unless `quote` is sent. */
        quoted?: 'any' | 'text' | 'exact';
        /** @description For text files: the encoding, by any label of the WHATWG Encoding Standard, such as `windows-1250`, `shift_jis` or `gbk`. There, `latin1` and `iso-8859-1` mean `windows-1252`. Default: detected among UTF-8, UTF-16, encodings of alphabets other than Latin if their letters show them, and Windows-1252. */
        encoding?: string;
        /** @description For text files: lines that begin with this ASCII character, such as `#`, are left out. Default: none. */
        comment?: string;
      };
      header?: {
        /** @description A key of the client for this request, such as the UUID `3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e`. Make a new one for each request. The same request with the same key is done once: its first answer is sent again, with `Idempotency-Replayed: true`, to tokens with the same role that have or lack `table:read` like the first one. Keys are kept for 24 hours from the beginning of the request. */
        'Idempotency-Key'?: string;
        /** @description `respond-async` (RFC 7240): the answer is 202 as soon as the body is stored, and the rows are loaded later. `Location` is the load. */
        Prefer?: string;
        /** @description How the body is packed: gzip, deflate, br, zstd. Default: it is not. */
        'Content-Encoding'?: string;
      };
      path: {
        /**
         * @description The name of the table: a PostgreSQL identifier of 1 to 63 bytes, case-sensitive and used exactly as written.
         * @example orders
         */
        table_name: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'multipart/form-data': components['schemas']['ExcelUpload'];
      };
    };
    responses: {
      /** @description The rows were added to an existing table. With `dry_run`: nothing was changed. */
      200: {
        headers: {
          /** @description The id of the load, also in answers to refused uploads. */
          'Load-Id'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoadedTable'];
        };
      };
      /** @description The table was created or replaced. */
      201: {
        headers: {
          /** @description The URL that describes the table. */
          Location?: string;
          /** @description The id of the load, also in answers to refused uploads. */
          'Load-Id'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoadedTable'];
        };
      };
      /** @description With `Prefer: respond-async`: the body is stored, and the rows will be loaded. */
      202: {
        headers: {
          /** @description The URL that describes the load. */
          Location?: string;
          /** @description `respond-async`. */
          'Preference-Applied'?: string;
          /** @description The id of the load, also in answers to refused uploads. */
          'Load-Id'?: string;
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Load'];
        };
      };
      /** @description [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. [`invalid-multipart`](/docs/errors/invalid-multipart): The body is not valid multipart/form-data. [`invalid-file`](/docs/errors/invalid-file): The file is broken. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. [`schema-forbidden`](/docs/errors/schema-forbidden): The request may not use the schema. [`permission-denied`](/docs/errors/permission-denied): The PostgreSQL role lacks a privilege. */
      403: components['responses']['Forbidden'];
      /** @description [`schema-not-found`](/docs/errors/schema-not-found): No such schema. [`table-not-found`](/docs/errors/table-not-found): No such table. [`profile-not-found`](/docs/errors/profile-not-found): No such profile. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`write-conflict`](/docs/errors/write-conflict): A concurrent transaction conflicts with the request. [`table-exists`](/docs/errors/table-exists): The table already exists. [`dependent-objects`](/docs/errors/dependent-objects): Other objects depend on the table. [`loses-data`](/docs/errors/loses-data): The change would lose a part of the table. [`load-cancelled`](/docs/errors/load-cancelled): The load was cancelled. [`idempotency-key-in-use`](/docs/errors/idempotency-key-in-use): A request with the key is still running. */
      409: components['responses']['Conflict'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`idempotency-key-reused`](/docs/errors/idempotency-key-reused): Another request has used the key. [`invalid-definition`](/docs/errors/invalid-definition): The table definition is not valid. [`distribution-unavailable`](/docs/errors/distribution-unavailable): The database cannot distribute tables. [`invalid-data`](/docs/errors/invalid-data): The data does not fit the table. [`nothing-to-load`](/docs/errors/nothing-to-load): The upload has neither a definition nor rows. [`unsupported-file`](/docs/errors/unsupported-file): The file cannot be read as a spreadsheet. [`password-required`](/docs/errors/password-required): The workbook is encrypted. [`wrong-password`](/docs/errors/wrong-password): The password does not open the workbook. [`link-refused`](/docs/errors/link-refused): The link cannot be used. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. [`too-many-uploads`](/docs/errors/too-many-uploads): Too many uploads are running. [`queue-full`](/docs/errors/queue-full): Too many asynchronous uploads wait. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`link-failed`](/docs/errors/link-failed): The file of the link cannot be fetched. */
      502: components['responses']['BadGateway'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-busy`](/docs/errors/database-busy): The table was locked or the statement took too long. [`storage-full`](/docs/errors/storage-full): The service has no room left for the upload. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  inspectExcel: {
    parameters: {
      query?: {
        /** @description The name of a profile (docs/loading.md). Its parameters and its definition count as if they had been sent; those of the request win. Default: none. */
        profile?: string;
        /** @description How texts become dates, numbers, times and booleans. `strict`: in the notation of PostgreSQL, or in the one that `date_order`, `decimal_sign` and `thousands_sign` name. `natural`: each column in the one notation that all of its values have: `17-Jan-94`, `€ 1.234,50`, `(80.50)`, `12 %` (0.12), `2:30 PM`, `Yes` and `No`. If several notations fit, the column stays text, and the warning `other-notation` offers them. */
        values?: 'strict' | 'natural';
        /** @description Languages besides English, by their tags (BCP 47): `de,fr`. The names of their months and weekdays are read with `values=natural` or a `date_order`, their words for yes and no with `values=natural`. At most 10. Default: English only. */
        languages?: string;
        /** @description true: every column whose type would be inferred is `text`. */
        all_text?: boolean;
        /** @description Texts that mean NULL, separated by commas, case-sensitive: `N/A,-`. An empty item means the empty text. Write a backslash before a comma or backslash in a text. Default: none. */
        null_values?: string;
        /** @description The order of day, month and year in dates such as `21/11/2026`, `21.11.26` or `11/21/2026, 2:30 PM`. Dates such as `2026-11-21` are read with every value. `iso`: only such dates. */
        date_order?: 'iso' | 'dmy' | 'mdy' | 'ymd';
        /** @description The sign before the decimals of a number: `1,5` needs `decimal_sign=,`. */
        decimal_sign?: '.' | ',';
        /** @description The sign between the thousands of a number: `1.234,50` needs `decimal_sign=,&thousands_sign=.`. `space` is also the narrow space and the no-break space. Groups have three digits, or two before the last three, as in India. */
        thousands_sign?: 'none' | '.' | ',' | 'space' | "'";
        /** @description true: white space around a text is removed, including invisible and control characters. */
        trim?: boolean;
        /** @description The file that is read of a zip file that is no workbook: its name with its folder, as in `2026/orders.csv`. Default: the only file, or the only one with the extension of a table. */
        file_in_zip?: string;
        /** @description The name of the sheet, exactly or else ignoring case, or its number from 1. `auto`: the visible sheet with the largest table, with a warning that says why. Default: the first visible sheet. */
        sheet?: string;
        /** @description The row of the sheet with the column names, from 1. `auto`: the row or rows that look most like a header, or none if the first row has values; only this table is read, and a warning says why. Default: the first row that has a value. */
        header_row?: number | 'auto';
        /** @description The number of header rows, from `header_row` on. Their texts are joined for each column: `Population 2020` above `male` is `Population 2020 male`. */
        header_rows?: number;
        /** @description false: the first row is data, and the columns are named `column_A`, `column_B`, … */
        header?: boolean;
        /** @description Load only these cells: `B3:F200`, `B:F`, or `B3:F` (all rows from 3 on). The first row is the header. Default: all cells. */
        range?: string;
        /** @description Only these cells: the name of an Excel table or of a range of cells (a defined name), or the cells themselves with their sheet, as in `'Sales Data'!B4:F20`. The totals row of a table is left out. Not with `range`. Default: all cells. */
        table_range?: string;
        /** @description Hidden rows and columns, also rows that a filter hides. `read`: with a warning. `skip`: they are left out. */
        hidden?: 'read' | 'skip';
        /** @description The rows below the first empty row after the data began. `skip`: they are left out, with a warning. */
        footer?: 'read' | 'skip';
        /** @description The columns in which an empty cell takes the value above it, separated by commas: `region,year`. The names are those of the header, before `rename`. At most 10, and a repeated value has at most 1,000 bytes. Default: none. */
        fill_down?: string;
        /** @description How headers become names. `exact`: without outer space. `snake_case`: `Site no` becomes `site_no`. */
        column_names?: 'exact' | 'snake_case';
        /** @description Error cells (`#N/A`), formulas without a stored result, and numbers with a date format that are not a day in the calendar. `fail`: they are problems. `null`: they are NULL, with a warning for each column. */
        cell_errors?: 'fail' | 'null';
        /** @description For text files: the separator of fields, one ASCII character that is not a letter, digit or quote, or `tab` or `space`. Default: detected among `,`, `;`, `tab`, `|`, `#` and `space`, or the separator that a first line such as `sep=;` names. */
        delimiter?: string;
        /** @description For text files: the quotation mark around fields. `none`: quotation marks are text. Default: `"`, or `'` if the first lines clearly have it around fields. */
        quote?: '"' | "'" | 'none';
        /** @description For text files: quotation marks that are not doubled in a quoted field, or single at its beginning. `repair`: they are read as text, with a warning, if only one reading gives the row and the next one as many fields as the header has. `strict`: each is a problem. */
        quotes?: 'repair' | 'strict';
        /** @description For text files: `\` (in a URL `%5C`) if programs have written a backslash before quotation marks and backslashes within quoted fields, as MySQL and Spark do. `none`: backslashes are text. Default: `\` if the first lines clearly use it, or else `none`. */
        escape?: '\\' | 'none';
        /** @description For text files: what values in quotes are. `any`: the same as without quotes. `text`: numbers, `true` and `false` in quotes are text, as in JSON. `exact`: as in exports and files of `COPY`, an empty field in quotes is the empty text, blank texts make a row, `="7"` is a text, and only `"` is a quotation mark unless `quote` is sent. */
        quoted?: 'any' | 'text' | 'exact';
        /** @description For text files: the encoding, by any label of the WHATWG Encoding Standard, such as `windows-1250`, `shift_jis` or `gbk`. There, `latin1` and `iso-8859-1` mean `windows-1252`. Default: detected among UTF-8, UTF-16, encodings of alphabets other than Latin if their letters show them, and Windows-1252. */
        encoding?: string;
        /** @description For text files: lines that begin with this ASCII character, such as `#`, are left out. Default: none. */
        comment?: string;
      };
      header?: {
        /** @description How the body is packed: gzip, deflate, br, zstd. Default: it is not. */
        'Content-Encoding'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'multipart/form-data': components['schemas']['ExcelInspection'];
      };
    };
    responses: {
      /** @description What the file contains. */
      200: {
        headers: {
          /** @description The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit. */
          'RateLimit-Policy'?: string;
          /** @description What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit. */
          RateLimit?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['InspectedSpreadsheet'];
        };
      };
      /** @description [`invalid-multipart`](/docs/errors/invalid-multipart): The body is not valid multipart/form-data. [`invalid-json`](/docs/errors/invalid-json): The body is not valid JSON. [`invalid-content-encoding`](/docs/errors/invalid-content-encoding): The body is not encoded as Content-Encoding says. [`invalid-file`](/docs/errors/invalid-file): The file is broken. */
      400: components['responses']['BadRequest'];
      /** @description [`missing-token`](/docs/errors/missing-token): An access token is needed. [`invalid-token`](/docs/errors/invalid-token): The access token is not valid. */
      401: components['responses']['Unauthorized'];
      /** @description [`insufficient-scope`](/docs/errors/insufficient-scope): The access token lacks a scope. */
      403: components['responses']['Forbidden'];
      /** @description [`profile-not-found`](/docs/errors/profile-not-found): No such profile. */
      404: components['responses']['NotFound'];
      /** @description [`not-acceptable`](/docs/errors/not-acceptable): The service answers only JSON. */
      406: components['responses']['NotAcceptable'];
      /** @description [`request-timeout`](/docs/errors/request-timeout): The request did not arrive in time. */
      408: components['responses']['RequestTimeout'];
      /** @description [`limit-exceeded`](/docs/errors/limit-exceeded): The upload is over a limit. */
      413: components['responses']['ContentTooLarge'];
      /** @description [`unsupported-media-type`](/docs/errors/unsupported-media-type): The content type is not accepted. */
      415: components['responses']['UnsupportedMediaType'];
      /** @description [`invalid-parameter`](/docs/errors/invalid-parameter): A parameter is not valid. [`invalid-definition`](/docs/errors/invalid-definition): The table definition is not valid. [`unsupported-file`](/docs/errors/unsupported-file): The file cannot be read as a spreadsheet. [`password-required`](/docs/errors/password-required): The workbook is encrypted. [`wrong-password`](/docs/errors/wrong-password): The password does not open the workbook. [`link-refused`](/docs/errors/link-refused): The link cannot be used. */
      422: components['responses']['UnprocessableContent'];
      /** @description [`too-many-requests`](/docs/errors/too-many-requests): Too many requests of one caller. [`too-many-uploads`](/docs/errors/too-many-uploads): Too many uploads are running. */
      429: components['responses']['TooManyRequests'];
      /** @description [`internal-error`](/docs/errors/internal-error): The service failed. */
      500: components['responses']['InternalServerError'];
      /** @description [`not-enabled`](/docs/errors/not-enabled): The service has no schema of its own. */
      501: components['responses']['NotImplemented'];
      /** @description [`link-failed`](/docs/errors/link-failed): The file of the link cannot be fetched. */
      502: components['responses']['BadGateway'];
      /** @description [`token-keys-unavailable`](/docs/errors/token-keys-unavailable): The keys of the identity provider cannot be fetched. [`database-unavailable`](/docs/errors/database-unavailable): The database cannot be reached. [`service-busy`](/docs/errors/service-busy): The service has no free place for the request. [`shutting-down`](/docs/errors/shutting-down): The service is starting or stopping. */
      503: components['responses']['ServiceUnavailable'];
    };
  };
  onTableCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description The id of the event. It is the same in each attempt. */
        'webhook-id': string;
        /** @description When the attempt began, in seconds since 1970. */
        'webhook-timestamp': string;
        /** @description The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
        'webhook-signature': string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/cloudevents+json': components['schemas']['TableCreatedEvent'];
      };
    };
    responses: {
      /** @description The receiver ends the webhook. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The event has arrived. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The service tries again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onTableReplaced: {
    parameters: {
      query?: never;
      header: {
        /** @description The id of the event. It is the same in each attempt. */
        'webhook-id': string;
        /** @description When the attempt began, in seconds since 1970. */
        'webhook-timestamp': string;
        /** @description The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
        'webhook-signature': string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/cloudevents+json': components['schemas']['TableReplacedEvent'];
      };
    };
    responses: {
      /** @description The receiver ends the webhook. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The event has arrived. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The service tries again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onTableEmptied: {
    parameters: {
      query?: never;
      header: {
        /** @description The id of the event. It is the same in each attempt. */
        'webhook-id': string;
        /** @description When the attempt began, in seconds since 1970. */
        'webhook-timestamp': string;
        /** @description The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
        'webhook-signature': string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/cloudevents+json': components['schemas']['TableEmptiedEvent'];
      };
    };
    responses: {
      /** @description The receiver ends the webhook. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The event has arrived. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The service tries again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onTableChanged: {
    parameters: {
      query?: never;
      header: {
        /** @description The id of the event. It is the same in each attempt. */
        'webhook-id': string;
        /** @description When the attempt began, in seconds since 1970. */
        'webhook-timestamp': string;
        /** @description The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
        'webhook-signature': string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/cloudevents+json': components['schemas']['TableChangedEvent'];
      };
    };
    responses: {
      /** @description The receiver ends the webhook. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The event has arrived. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The service tries again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onTableDropped: {
    parameters: {
      query?: never;
      header: {
        /** @description The id of the event. It is the same in each attempt. */
        'webhook-id': string;
        /** @description When the attempt began, in seconds since 1970. */
        'webhook-timestamp': string;
        /** @description The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
        'webhook-signature': string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/cloudevents+json': components['schemas']['TableDroppedEvent'];
      };
    };
    responses: {
      /** @description The receiver ends the webhook. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The event has arrived. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The service tries again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onRowsLoaded: {
    parameters: {
      query?: never;
      header: {
        /** @description The id of the event. It is the same in each attempt. */
        'webhook-id': string;
        /** @description When the attempt began, in seconds since 1970. */
        'webhook-timestamp': string;
        /** @description The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
        'webhook-signature': string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/cloudevents+json': components['schemas']['RowsLoadedEvent'];
      };
    };
    responses: {
      /** @description The receiver ends the webhook. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The event has arrived. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The service tries again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onLoadRefused: {
    parameters: {
      query?: never;
      header: {
        /** @description The id of the event. It is the same in each attempt. */
        'webhook-id': string;
        /** @description When the attempt began, in seconds since 1970. */
        'webhook-timestamp': string;
        /** @description The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
        'webhook-signature': string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/cloudevents+json': components['schemas']['LoadRefusedEvent'];
      };
    };
    responses: {
      /** @description The receiver ends the webhook. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The event has arrived. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The service tries again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onLoadFailed: {
    parameters: {
      query?: never;
      header: {
        /** @description The id of the event. It is the same in each attempt. */
        'webhook-id': string;
        /** @description When the attempt began, in seconds since 1970. */
        'webhook-timestamp': string;
        /** @description The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
        'webhook-signature': string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/cloudevents+json': components['schemas']['LoadFailedEvent'];
      };
    };
    responses: {
      /** @description The receiver ends the webhook. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The event has arrived. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The service tries again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onWebhookPing: {
    parameters: {
      query?: never;
      header: {
        /** @description The id of the event. It is the same in each attempt. */
        'webhook-id': string;
        /** @description When the attempt began, in seconds since 1970. */
        'webhook-timestamp': string;
        /** @description The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
        'webhook-signature': string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/cloudevents+json': components['schemas']['WebhookPingEvent'];
      };
    };
    responses: {
      /** @description The receiver ends the webhook. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The event has arrived. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The service tries again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
}
