/** Where the API server is, and how a client shows who it is. */

export interface TlsMaterial {
  /** PEM; absent: the authorities that Node.js knows. */
  readonly ca?: string
  /** PEM, of the client, with its key. */
  readonly cert?: string
  readonly key?: string
  /** Absent: that of the URL. */
  readonly servername?: string
  readonly rejectUnauthorized?: false
}

/** What one request shows. */
export interface Presented {
  /** Value of the field Authorization; null: none. */
  readonly authorization: string | null
  /** Of its connection. */
  readonly tls: TlsMaterial
}

export interface Credentials {
  /** For a request. Throws or rejects with an Error when a file cannot be read, or a program does not make them. */
  present(): Presented | Promise<Presented>
  /** The API server has answered 401 to what was presented: what is kept of it is read again. */
  refused(presented: Presented): void
}

export interface ApiConnection {
  /** With a path, if the API server has one: "https://10.0.0.1:6443", "https://clusters.example/one". */
  readonly url: string
  readonly credentials: Credentials
  /** The client's own, where it is known. */
  readonly namespace: string | null
}
