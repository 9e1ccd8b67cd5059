/** Who logs in: keeps what an SDK tells it, and notes where the browser would be sent. Both SDKs take it. */

export const CALLBACK = 'http://localhost:1/callback'

interface Stored {
  readonly client_id: string
  readonly issuer?: string | undefined
}

interface StoredTokens {
  readonly access_token: string
  readonly token_type: string
  readonly refresh_token?: string | undefined
}

export class Person<C extends Stored, T extends StoredTokens> {
  readonly redirectUrl = CALLBACK
  readonly clientMetadata = {
    redirect_uris: [CALLBACK],
    client_name: 'tester',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none'
  }
  sentTo: URL | null = null
  #client: C | undefined
  #tokens: T | undefined
  #verifier = ''

  clientInformation(): C | undefined {
    return this.#client
  }
  saveClientInformation(client: C): void {
    this.#client = client
  }
  tokens(): T | undefined {
    return this.#tokens
  }
  saveTokens(tokens: T): void {
    this.#tokens = tokens
  }
  redirectToAuthorization(url: URL): void {
    this.sentTo = url
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }
  codeVerifier(): string {
    return this.#verifier
  }
}
