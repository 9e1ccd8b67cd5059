/**
 * A client for the suite's scenarios of authorization, made with the SDK: `auth-client.ts direct|through URL`. The
 * suite gives the URL of its server, which wants tokens of the suite's authorization server. `through` puts a gateway
 * in the place of the server, as where its name leads to the gateway: the URL is the same, the connection is not.
 */
import {
  Client,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError
} from '@modelcontextprotocol/client'
import { startGateway } from '#engine/testing/gateway.ts'
import { authConfiguration } from './conformance-auth.ts'

const CALLBACK = 'http://localhost:3000/callback'
/** Where the suite says that the client describes itself (client ID metadata documents). */
const SELF = 'https://conformance-test.local/client-metadata.json'
/** Logins that are finished in one run: a client that is refused again and again gives up. */
const LOGINS_MAX = 2
const STATELESS = '2026-07-28'

/** A person who agrees to everything, with a browser that follows one redirect. */
class Person implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK
  readonly clientMetadataUrl = SELF
  readonly clientMetadata = {
    client_name: 'weir-conformance',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code']
  }
  #client: StoredOAuthClientInformation | undefined
  #tokens: StoredOAuthTokens | undefined
  #verifier = ''
  #callback: URLSearchParams | null = null
  logins = 0

  /** `known`: what the authorization server knows the client as already. */
  constructor(known: StoredOAuthClientInformation | undefined) {
    this.#client = known
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (scope === 'all' || scope === 'client') this.#client = undefined
    if (scope === 'all' || scope === 'tokens') this.#tokens = undefined
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    const response = await fetch(url, { redirect: 'manual' })
    const location = response.headers.get('location')
    this.#callback = location === null ? null : new URL(location).searchParams
  }

  /** What the authorization server has sent the browser back with. */
  takeCallback(): URLSearchParams | null {
    const callback = this.#callback
    this.#callback = null
    return callback
  }
}

async function use(url: URL, fetch: typeof globalThis.fetch): Promise<void> {
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Partial<Record<string, string>>
  const { client_id: id, client_secret: secret } = context
  const known =
    id === undefined ? undefined : { client_id: id, ...(secret === undefined ? {} : { client_secret: secret }) }
  const person = new Person(known)
  let transport = new StreamableHTTPClientTransport(url, { authProvider: person, fetch })
  /** Logs in where that is what `call` needs, and makes it again. */
  const loggedIn = async (call: () => Promise<unknown>): Promise<void> => {
    for (;;) {
      try {
        await call()
        return
      } catch (error) {
        const callback = person.takeCallback()
        if (!(error instanceof UnauthorizedError) || callback === null || ++person.logins > LOGINS_MAX) throw error
        await transport.finishAuth(callback)
      }
    }
  }
  const isStateless = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === STATELESS
  const options = isStateless ? { versionNegotiation: { mode: { pin: STATELESS } } } : {}
  let client = new Client({ name: 'weir-conformance', version: '1.0.0' }, options)
  await loggedIn(() => {
    transport = new StreamableHTTPClientTransport(url, { authProvider: person, fetch })
    client = new Client({ name: 'weir-conformance', version: '1.0.0' }, options)
    return client.connect(transport)
  })
  await loggedIn(() => client.listTools())
  await loggedIn(() => client.callTool({ name: 'test-tool', arguments: {} }))
  await client.close()
}

/** Requests for `server` go to `port`. */
function moved(server: URL, port: number): typeof globalThis.fetch {
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.origin === server.origin) url.port = String(port)
    return fetch(url, init)
  }
}

const [way, address] = process.argv.slice(2)
const server = new URL(address!)
const gateway = way === 'through' ? await startGateway(authConfiguration(server)) : null
try {
  await use(server, gateway === null ? fetch : moved(server, gateway.port))
} catch (error) {
  // Some scenarios want the client to give up.
  console.error(error)
  process.exitCode = 1
} finally {
  await gateway?.close()
}
