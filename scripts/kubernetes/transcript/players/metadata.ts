/** The metadata services of AWS (version 2 of its protocol) and of Google, as nodes have them. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { CLOUD_KEYS } from './keys.ts'

export const METADATA_ADDRESS = '169.254.169.254'
const HOUR_MS = 3_600_000
const GOOGLE = '/computeMetadata/v1/instance/service-accounts/default'
const AWS = '/latest/meta-data/iam/security-credentials/'
const ROLE = 'node'

export async function startMetadata(): Promise<Server> {
  const server = createServer(({ method, url = '', headers }, response) => {
    const { pathname, searchParams } = new URL(url, `http://${METADATA_ADDRESS}`)
    const isOfGoogle = headers['metadata-flavor'] === 'Google'
    const isOfAws = headers['x-aws-ec2-metadata-token'] === 'session'
    if (method === 'PUT' && pathname === '/latest/api/token') response.end('session')
    else if (isOfAws && pathname === AWS) response.end(ROLE)
    else if (isOfAws && pathname === `${AWS}${ROLE}`) response.end(JSON.stringify(awsCredentials()))
    else if (isOfGoogle && pathname === `${GOOGLE}/token`)
      response.end(JSON.stringify({ access_token: 'ya29.of-the-node', expires_in: 3600, token_type: 'Bearer' }))
    else if (isOfGoogle && pathname === `${GOOGLE}/identity`) response.end(idToken(searchParams.get('audience') ?? ''))
    else response.writeHead(404).end()
  })
  server.listen(80, METADATA_ADDRESS)
  await once(server, 'listening')
  return server
}

const awsCredentials = () => ({
  Code: 'Success',
  AccessKeyId: CLOUD_KEYS.accessKeyId,
  SecretAccessKey: CLOUD_KEYS.secretAccessKey,
  Token: 'of-the-node',
  Expiration: new Date(Date.now() + HOUR_MS).toISOString()
})

function idToken(aud: string): string {
  const exp = Math.floor((Date.now() + HOUR_MS) / 1000)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return [part({ alg: 'RS256' }), part({ aud, exp }), 'c2lnbmF0dXJl'].join('.')
}
