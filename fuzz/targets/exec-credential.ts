/** Answers of programs that make credentials: what is taken can be sent, and a refusal quotes nothing. */
import assert from 'node:assert/strict'
import { validateHeaderValue } from 'node:http'
import { readExecCredential } from '#engine/kubernetes/client/exec/credential.ts'

export const name = 'exec-credential'

const V1 = 'client.authentication.k8s.io/v1'

export const dictionary = [
  ...[
    '"apiVersion":',
    `"${V1}"`,
    `"${V1}beta1"`,
    '"kind":"ExecCredential"',
    '"status":',
    '"token":',
    'null',
    '{}',
    '\\r\\n'
  ],
  ...['"expirationTimestamp":', '"2030-01-02T03:04:05Z"', '"clientCertificateData":', '"clientKeyData":', '\\u0000'],
  ...['-----BEGIN CERTIFICATE-----\\n', '-----END CERTIFICATE-----\\n', '-----BEGIN PRIVATE KEY-----\\n']
]

export function run(data: Buffer): void {
  const output = data.toString()
  let message: string
  try {
    const { token, certificate, expiresAt } = readExecCredential(output, V1)
    assert.ok(token !== '' || certificate !== null, 'there is a credential')
    validateHeaderValue('authorization', `Bearer ${token}`)
    assert.ok(expiresAt === null || Number.isSafeInteger(expiresAt))
    return
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    message = (error as Error).message
  }
  assert.match(message, /^its /)
  // No word of a message is that long but the name of the version: another one would be a quotation.
  for (const part of output.match(/[\w+/=]{24,}/g) ?? []) assert.ok(!message.includes(part), message)
}
