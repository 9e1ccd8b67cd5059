/** TLS to what is asked on behalf of models: verified, or not at all (docs/specification.md#backend-tls). */
import { refusedKeys, z } from '#engine/schema/schema.ts'

const LATER = [
  ...['alpnProtocols', 'caCertificateRefs', 'insecureSkipVerify', 'mtlsCertificateRef', 'sni'],
  ...['verifySubjectAltNames']
]

export const tls = () => z.strictObject(refusedKeys('TLS setting', LATER))
