/** TLS to what is asked on behalf of models (spec 2.6, BackendTLS): with valid certificates, or not at all. */
import { refusedKeys, z } from '#engine/schema/schema.ts'

const LATER = [
  ...['alpnProtocols', 'caCertificateRefs', 'insecureSkipVerify', 'mtlsCertificateRef', 'sni'],
  ...['verifySubjectAltNames']
]

export const tls = () => z.strictObject(refusedKeys('TLS setting', LATER))
