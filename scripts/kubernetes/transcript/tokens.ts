/** Tokens that are shown to the Gateway, by name of the file that has each. */
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'

export interface Tokens {
  /** JSON. */
  readonly keySet: string
  readonly files: Readonly<Record<'token' | 'expired' | 'of-another', string>>
}

export async function makeTokens(): Promise<Tokens> {
  const key = signingKey('ES256')
  const claims = hour({ sub: 'anna', aud: 'chat' })
  return {
    keySet: keySet([key, { kid: 'own', alg: 'ES256', use: 'sig' }]),
    files: {
      token: await token(key, claims, { kid: 'own' }),
      expired: await token(key, { ...claims, exp: 1 }, { kid: 'own' }),
      'of-another': await token(key, { ...claims, aud: 'shop' }, { kid: 'own' })
    }
  }
}
