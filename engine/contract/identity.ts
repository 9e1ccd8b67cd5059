/** The caller, as far as policies have identified it. An exchange without an identity allocates nothing. */

/** Claims of a token, metadata of an API key, or the name of a user: JSON. */
export type Claims = Readonly<Record<string, unknown>>

export class Identity {
  /** Claims of the verified token, or null. */
  jwt: Claims | null = null
  /** Metadata of the API key that was presented, or null. */
  apiKey: Claims | null = null
  basicAuth: Claims | null = null
  /** The verified token and the API key themselves, for expressions that ask for them; never printed. */
  rawToken: string | null = null
  rawKey: string | null = null
  /** Header lines that held credentials and were taken out before SERVE, flat: name, value. Never printed. */
  credentials: readonly string[] | null = null
}

/** The identity of `ex`, for a policy that has found something out. */
export function identityOf(ex: { identity: Identity | null }): Identity {
  ex.identity ??= new Identity()
  return ex.identity
}
