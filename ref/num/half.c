#include "half.h"

uint32_t zp_f32_from_bf16(uint16_t h)
{
  return (uint32_t)h * 65536u;
}

uint16_t zp_bf16_from_f32(uint32_t u)
{
  uint32_t kept = u / 65536u, lost = u % 65536u;
  if (u % 2147483648u > 2139095040u) {
    /* a payload whose top bits are all zero would turn into infinity without the quiet bit */
    return (uint16_t)(kept / 64u % 2u == 0 ? kept + 64u : kept);
  }
  if (lost > 32768u || (lost == 32768u && kept % 2u == 1)) kept += 1;
  //@ assert fits: kept <= 65535;
  return (uint16_t)kept;
}

/* The fp32 pattern of the positive fp16 subnormal with significand fr, in units of 2^-24.
 * fr: 1 to 1023. Errors: none.
 * spec: NUM-1
 */
/*@ requires range: 1 <= fr <= 1023;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 < \result < 947912704;
    ensures widened: \result == WidenSubnormalF16(fr);
*/
static uint32_t widen_subnormal(uint32_t fr)
{
  uint32_t e = 113; /* fp32 exponent of 2^-14, where fp16's normal numbers begin */
  /*@ loop invariant e_range: 103 <= e <= 113;
      loop invariant fr_range: 1 <= fr < 2048;
      loop invariant scaled: (e == 113 ==> fr == \at(fr,Pre)) &&
        (e == 112 ==> fr == 2 * \at(fr,Pre)) &&
        (e == 111 ==> fr == 4 * \at(fr,Pre)) && (e == 110 ==> fr == 8 * \at(fr,Pre)) &&
        (e == 109 ==> fr == 16 * \at(fr,Pre)) && (e == 108 ==> fr == 32 * \at(fr,Pre)) &&
        (e == 107 ==> fr == 64 * \at(fr,Pre)) && (e == 106 ==> fr == 128 * \at(fr,Pre)) &&
        (e == 105 ==> fr == 256 * \at(fr,Pre)) && (e == 104 ==> fr == 512 * \at(fr,Pre)) &&
        (e == 103 ==> fr == 1024 * \at(fr,Pre));
      loop assigns e, fr;
      loop variant e; */
  while (fr < 1024u) {
    fr *= 2u;
    e -= 1u;
  }
  return e * 8388608u + (fr - 1024u) * 8192u;
}

uint32_t zp_f32_from_f16(uint16_t h)
{
  uint32_t sign = (uint32_t)h / 32768u * 2147483648u;
  uint32_t a = (uint32_t)h % 32768u;
  if (a == 0) return sign;
  if (a < 1024u) return sign + widen_subnormal(a);
  if (a < 31744u) return sign + a * 8192u + 939524096u; /* exponent bias 127 - 15, times 2^23 */
  if (a == 31744u) return sign + 2139095040u;
  uint32_t payload = (a - 31744u) * 8192u;
  if (payload < 4194304u) payload += 4194304u;
  return sign + 2139095040u + payload;
}

/* The positive fp16 pattern nearest to fp32 pattern a below 2^-14, ties to even.
 * a: 0 to 0x387fffff. Errors: none.
 * spec: NUM-2
 */
/*@ requires range: 0 <= a < 947912704;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result <= 1024;
    ensures tiny: a <= 855638016 ==> \result == 0;
*/
static uint32_t narrow_subnormal(uint32_t a)
{
  uint32_t be = a / 8388608u;
  if (be < 102u) return 0; /* below 2^-25, half of fp16's smallest number */
  uint32_t m = a % 8388608u + 8388608u;
  uint32_t unit = 16384u; /* fp16's last place in units of fp32's, at be = 112 */
  /*@ loop invariant e_range: be <= e <= 112;
      loop invariant unit_value: (e == 112 ==> unit == 16384) && (e == 111 ==> unit == 32768) &&
        (e == 110 ==> unit == 65536) && (e == 109 ==> unit == 131072) &&
        (e == 108 ==> unit == 262144) && (e == 107 ==> unit == 524288) &&
        (e == 106 ==> unit == 1048576) && (e == 105 ==> unit == 2097152) &&
        (e == 104 ==> unit == 4194304) && (e == 103 ==> unit == 8388608) &&
        (e == 102 ==> unit == 16777216);
      loop assigns e, unit;
      loop variant e - be; */
  for (uint32_t e = 112u; e > be; e--) unit *= 2u;
  uint32_t kept = m / unit, lost = m % unit;
  if (lost > unit / 2u || (lost == unit / 2u && kept % 2u == 1)) kept += 1u;
  return kept;
}

uint16_t zp_f16_from_f32(uint32_t u)
{
  uint32_t sign = u / 2147483648u * 32768u;
  uint32_t a = u % 2147483648u;
  if (a > 2139095040u) {
    uint32_t payload = (a - 2139095040u) / 8192u;
    if (payload < 512u) payload += 512u;
    return (uint16_t)(sign + 31744u + payload);
  }
  if (a >= 1199570944u) return (uint16_t)(sign + 31744u); /* from 2^16 */
  if (a < 947912704u) return (uint16_t)(sign + narrow_subnormal(a));
  uint32_t b = a - 939524096u;
  uint32_t kept = b / 8192u, lost = b % 8192u;
  if (lost > 4096u || (lost == 4096u && kept % 2u == 1)) kept += 1u;
  //@ assert fits: kept <= 31744;
  return (uint16_t)(sign + kept);
}
