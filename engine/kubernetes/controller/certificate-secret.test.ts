import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { ApiError } from '#engine/kubernetes/client/api-error.ts'
import type { KubernetesObject, ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { type CertificateSecretOptions, certificateOfSecret } from './certificate-secret.ts'

const YEAR_MS = 365 * 86_400_000
const START = Date.parse('2026-01-01T00:00:00Z')

/** An API server with one Secret. */
class OneSecret {
  object: KubernetesObject | null = null
  /** What another controller writes before the next write. */
  rival: KubernetesObject | null = null
  writes = 0

  async get(): Promise<KubernetesObject | null> {
    return this.object
  }

  create = (_kind: ObjectKind, object: KubernetesObject) => this.#write(object)
  replace = (_kind: ObjectKind, object: KubernetesObject) => this.#write(object)

  async #write(object: KubernetesObject): Promise<KubernetesObject> {
    if (this.rival !== null) {
      this.object = this.rival
      this.rival = null
      throw new ApiError('there is one', 409)
    }
    this.writes++
    this.object = object
    return object
  }

  /** Without one entry. */
  drop(name: string): void {
    const { [name]: _, ...data } = (this.object!.data ?? {}) as Readonly<Record<string, string>>
    this.object = { ...this.object!, data }
  }
}

const optionsOf = (client: OneSecret, years = 0): CertificateSecretOptions => ({
  client,
  namespace: 'weir-system',
  name: 'certificate',
  names: ['weir-controller.weir-system.svc'],
  now: START + years * YEAR_MS
})

test('all controllers have the same certificate and the same key of sessions', async () => {
  const client = new OneSecret()
  const first = await certificateOfSecret(optionsOf(client))
  assert.deepEqual(await certificateOfSecret(optionsOf(client)), first)
  assert.equal(client.writes, 1)
  assert.ok(first.sessionKey.length >= 32)
})

test('the key of sessions outlives the certificate', async () => {
  const client = new OneSecret()
  const first = await certificateOfSecret(optionsOf(client))
  const later = await certificateOfSecret(optionsOf(client, 9.5))
  assert.notEqual(later.cert, first.cert)
  assert.equal(later.sessionKey, first.sessionKey)
})

test('a certificate that begins later, by a clock that was ahead, is made anew', async () => {
  const client = new OneSecret()
  const ahead = await certificateOfSecret(optionsOf(client, 0.1))
  const now = await certificateOfSecret(optionsOf(client))
  assert.notEqual(now.cert, ahead.cert)
  assert.equal(now.sessionKey, ahead.sessionKey)
  assert.ok(Date.parse(new X509Certificate(now.cert).validFrom) <= START)
  assert.deepEqual(await certificateOfSecret(optionsOf(client)), now)
})

test('a certificate that others have put there is kept, and gets a key of sessions beside it', async () => {
  const client = new OneSecret()
  const first = await certificateOfSecret(optionsOf(client))
  client.drop('session.key')
  const next = await certificateOfSecret(optionsOf(client))
  assert.equal(next.cert, first.cert)
  assert.notEqual(next.sessionKey, '')
  assert.deepEqual(await certificateOfSecret(optionsOf(client)), next)
})

test('of two controllers that write at once, both have what the first has written', async () => {
  const [client, other] = [new OneSecret(), new OneSecret()]
  const theirs = await certificateOfSecret(optionsOf(other))
  client.rival = other.object
  assert.deepEqual(await certificateOfSecret(optionsOf(client)), theirs)
  assert.equal(client.writes, 0)
})
