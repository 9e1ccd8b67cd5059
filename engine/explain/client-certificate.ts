/**
 * Whether a listener would take a client's certificate. A handshake proves that with the client's key, which nobody
 * has to give away to have a request explained: so what OpenSSL judges of a chain is asked of its certificates one by
 * one. Codes are those of X509_verify_cert, the last one where there are several, as handshakes report them. Limits on
 * the length of paths and on names (RFC 5280 sections 4.2.1.9 and 4.2.1.10) are not looked at.
 */
import { X509Certificate } from 'node:crypto'

export const CERTIFICATES_MAX = 10
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** Of authorities more are common: a bundle of the system has some 150. */
const AUTHORITIES_MAX = 1_000
/** id-kp-clientAuth and anyExtendedKeyUsage (RFC 5280 section 4.2.1.12). */
const FOR_CLIENTS = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0']

/** The client's own first; null: there are none in `pem`, too many, or some are none. */
export function certificatesOf(pem: string, max = CERTIFICATES_MAX): X509Certificate[] | null {
  const texts = pem.match(PEM) ?? []
  if (texts.length === 0 || texts.length > max) return null
  try {
    return texts.map((text) => new X509Certificate(text))
  } catch {
    // OpenSSL's words about DER do not help a user who has given the wrong file.
    return null
  }
}

/** Null: the chain leads to one of `authorities` (PEM); else why it does not. */
export function chainFaultOf(sent: readonly X509Certificate[], authorities: string, now: number): string | null {
  const trusted = certificatesOf(authorities, AUTHORITIES_MAX) ?? []
  const isTrusted = (one: X509Certificate) => trusted.some((root) => root.raw.equals(one.raw))
  const [leaf, ...others] = sent
  const chain = [leaf!]
  let fault: string | null = null
  for (;;) {
    const last = chain.at(-1)!
    if (last.checkIssued(last)) {
      if (!isTrusted(last)) fault = chain.length === 1 ? 'DEPTH_ZERO_SELF_SIGNED_CERT' : 'SELF_SIGNED_CERT_IN_CHAIN'
      break
    }
    const isIssuer = (one: X509Certificate) => !chain.includes(one) && last.checkIssued(one)
    const issuer = trusted.find(isIssuer) ?? others.find(isIssuer)
    if (issuer === undefined) {
      const local = isTrusted(last) ? 'UNABLE_TO_GET_ISSUER_CERT' : 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'
      fault = chain.length === 1 ? 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' : local
      break
    }
    chain.push(issuer)
  }
  return timesFault(chain, now) ?? usesFault(chain) ?? fault
}

/** Purposes. One that may not sign others (INVALID_CA) has not the purpose of an authority either. */
function usesFault([leaf, ...above]: readonly X509Certificate[]): string | null {
  const uses = leaf!.keyUsage as readonly string[] | undefined
  const isForClients = uses === undefined || uses.some((use) => FOR_CLIENTS.includes(use))
  return isForClients && above.every((one) => one.ca) ? null : 'INVALID_PURPOSE'
}

/** Signatures and dates, from the authority down to the client's own. */
function timesFault(chain: readonly X509Certificate[], now: number): string | null {
  let fault: string | null = null
  for (const [i, one] of chain.entries()) {
    const issuer = chain[i + 1]
    const own = issuer !== undefined && !one.verify(issuer.publicKey) ? 'CERT_SIGNATURE_FAILURE' : dateFault(one, now)
    fault ??= own
  }
  return fault
}

function dateFault({ validFrom, validTo }: X509Certificate, now: number): string | null {
  if (now < Date.parse(validFrom)) return 'CERT_NOT_YET_VALID'
  return now > Date.parse(validTo) ? 'CERT_HAS_EXPIRED' : null
}
