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

export interface Credentials {
  /** Value of the field Authorization; null: none. Throws an Error when a file cannot be read. */
  authorization(): string | null
  /** Of the next connection. */
  tls(): TlsMaterial
  /** The API server has answered 401: what is kept is read again. */
  refused(): void
}

export interface ApiConnection {
  /** With a path, if the API server has one: "https://10.0.0.1:6443", "https://clusters.example/one". */
  readonly url: string
  readonly credentials: Credentials
  /** The client's own, where it is known. */
  readonly namespace: string | null
}
