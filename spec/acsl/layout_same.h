/* Facts that stay true while a layout is built. Include after ref/plan/layout.h. */
#ifndef ZP_SPEC_ACSL_LAYOUT_SAME_H
#define ZP_SPEC_ACSL_LAYOUT_SAME_H

/* The inputs of the functions of layout.h are equal at two points. */
/*@ predicate SameInput{A,B}(zp_config *c) =
      \at(c->n_params, A) == \at(c->n_params, B) && \at(c->params, A) == \at(c->params, B) &&
      \at(c->dp, A) == \at(c->dp, B) && \at(c->ep, A) == \at(c->ep, B) &&
      \at(c->bucket, A) == \at(c->bucket, B) && \at(c->align, A) == \at(c->align, B) &&
      (\forall integer j; 0 <= j < \at(c->n_params, A) ==>
        \at(c->params[j].numel, A) == \at(c->params[j].numel, B) &&
        \at(c->params[j].stage, A) == \at(c->params[j].stage, B) &&
        \at(c->params[j].optgroup, A) == \at(c->params[j].optgroup, B) &&
        \at(c->params[j].tied, A) == \at(c->params[j].tied, B) &&
        \at(c->params[j].expert, A) == \at(c->params[j].expert, B) &&
        \at(c->params[j].frozen, A) == \at(c->params[j].frozen, B) &&
        \at(c->params[j].fp32, A) == \at(c->params[j].fp32, B)); */

/*@ lemma Same_Input{A,B}: \forall zp_config *c; SameConfig{A,B}(c) ==> SameInput{A,B}(c);
    // SameConfig, field by field.
    predicate SameFields{A,B}(zp_config *c) =
      SameScalars{A,B}(c) &&
      (\forall integer j; 0 <= j < \at(c->n_params, A) ==>
        \at(c->params[j].numel, A) == \at(c->params[j].numel, B) &&
        \at(c->params[j].stage, A) == \at(c->params[j].stage, B) &&
        \at(c->params[j].optgroup, A) == \at(c->params[j].optgroup, B) &&
        \at(c->params[j].tied, A) == \at(c->params[j].tied, B) &&
        \at(c->params[j].sharded, A) == \at(c->params[j].sharded, B) &&
        \at(c->params[j].expert, A) == \at(c->params[j].expert, B) &&
        \at(c->params[j].frozen, A) == \at(c->params[j].frozen, B) &&
        \at(c->params[j].fp32, A) == \at(c->params[j].fp32, B));
    lemma Fields_Of{A,B}: \forall zp_config *c; SameConfig{A,B}(c) ==> SameFields{A,B}(c);
    lemma Fields_Same{A,B}: \forall zp_config *c; SameFields{A,B}(c) ==> SameConfig{A,B}(c);
    lemma Scalars_Chain{A,B,C}: \forall zp_config *c;
      SameScalars{A,B}(c) && SameScalars{B,C}(c) ==>
      SameScalars{A,C}(c) && \at(c->n_params, A) == \at(c->n_params, B);
    lemma Fields_Chain{A,B,C}: \forall zp_config *c;
      SameFields{A,B}(c) && SameFields{B,C}(c) ==> SameFields{A,C}(c);
    lemma Same_Chain{A,B,C}: \forall zp_config *c;
      SameConfig{A,B}(c) && SameConfig{B,C}(c) ==> SameConfig{A,C}(c); */

/*@ logic integer EndOf{L}(zp_layout *lay) = lay->first_param + lay->n_params;

    predicate StillFlat{A,B}(zp_flat *f) =
      \at(f->group, A) == \at(f->group, B) && \at(f->members, A) == \at(f->members, B) &&
      \at(f->optgroup, A) == \at(f->optgroup, B) && \at(f->tied, A) == \at(f->tied, B) &&
      \at(f->fp32, A) == \at(f->fp32, B) &&
      \at(f->use, A) == \at(f->use, B) && \at(f->holder, A) == \at(f->holder, B) &&
      \at(f->numel, A) == \at(f->numel, B) && \at(f->align, A) == \at(f->align, B) &&
      \at(f->capacity, A) == \at(f->capacity, B);
    predicate StillSpot{A,B}(zp_spot *s) =
      \at(s->flat, A) == \at(s->flat, B) && \at(s->start, A) == \at(s->start, B);
    predicate StillRoom{A,B}(zp_layout *lay) =
      \at(lay->flat, A) == \at(lay->flat, B) && \at(lay->spot, A) == \at(lay->spot, B) &&
      \at(lay->cap_flats, A) == \at(lay->cap_flats, B) &&
      \at(lay->cap_spots, A) == \at(lay->cap_spots, B);
    predicate StillStage{A,B}(zp_layout *lay) =
      \at(lay->stage, A) == \at(lay->stage, B) &&
      \at(lay->first_param, A) == \at(lay->first_param, B) &&
      \at(lay->n_params, A) == \at(lay->n_params, B);
    predicate WritableLayout{L}(zp_config *c, zp_layout *lay) =
      \valid(lay) && 0 <= lay->cap_flats && 0 <= lay->cap_spots &&
      \valid(lay->flat + (0 .. lay->cap_flats - 1)) &&
      \valid(lay->spot + (0 .. lay->cap_spots - 1)) &&
      \separated(lay, lay->flat + (0 .. lay->cap_flats - 1),
        lay->spot + (0 .. lay->cap_spots - 1), c, c->params + (0 .. c->n_params - 1)); */

#endif
