/**
 * An authorization server as Keycloak 26.3 is one (recorded from it): metadata by OpenID Connect only, registration of
 * clients, codes with PKCE, refresh tokens, and its own name in every answer to a browser (RFC 9207).
 */
import { equal } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { keySet, signingKey, token } from '#engine/testing/tokens.ts'

export interface IssuerOptions {
  /** Says who it is, in its metadata and in its answers. */
  readonly namesItself: boolean
  /** The `aud` of its tokens; the resource that is asked for when left out, as few issuers have it. */
  readonly audience?: string
}

export interface TestIssuer {
  readonly url: string
  /** Paths that were asked for, with their method. */
  readonly requests: readonly string[]
}

const key = signingKey('ES256')

export async function issuerOf(t: TestContext, { namesItself, audience }: IssuerOptions): Promise<TestIssuer> {
  const codes = new Map<string, URLSearchParams>()
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, url)
    requests.push(`${request.method} ${pathname}`)
    const json = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (pathname === '/realms/house/.well-known/openid-configuration') json(metadata())
    else if (pathname.endsWith('/certs')) response.end(keySet([key]))
    else if (pathname.endsWith('/clients-registrations/openid-connect')) {
      json({ client_id: 'made', ...(JSON.parse(await textOf(request)) as object) }, 201)
    } else if (pathname === '/auth') {
      codes.set('the-code', searchParams)
      const back = new URL(searchParams.get('redirect_uri')!)
      back.searchParams.set('state', searchParams.get('state') ?? '')
      if (namesItself) back.searchParams.set('iss', url)
      back.searchParams.set('code', 'the-code')
      response.writeHead(302, { location: back.href }).end()
    } else if (pathname === '/token') json(await tokens(new URLSearchParams(await textOf(request))))
    else json({}, 404)
  })
  const tokens = async (form: URLSearchParams): Promise<object> => {
    const first = codes.get('the-code')!
    if (form.get('grant_type') === 'refresh_token') equal(form.get('refresh_token'), 'again')
    else {
      const challenge = createHash('sha256').update(form.get('code_verifier')!).digest('base64url')
      equal(challenge, first.get('code_challenge'))
    }
    const aud = audience ?? first.get('resource')!
    const exp = Math.floor(Date.now() / 1000) + 60
    const text = await token(key, { iss: url, sub: 'ann', aud, exp })
    return { access_token: text, token_type: 'Bearer', expires_in: 60, refresh_token: 'again' }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `${origin}/realms/house`
  const metadata = () => ({
    issuer: url,
    authorization_endpoint: `${origin}/auth`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${url}/clients-registrations/openid-connect`,
    jwks_uri: `${url}/protocol/openid-connect/certs`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['plain', 'S256'],
    ...(namesItself ? { authorization_response_iss_parameter_supported: true } : {})
  })
  return { url, requests }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += piece
  return text
}
