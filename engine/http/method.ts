/** Facts about request methods. */

/** Methods that a client itself may repeat without asking (RFC 9110 section 9.2.2). */
export function isIdempotent(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'PUT' || method === 'DELETE' || method === 'OPTIONS'
}
